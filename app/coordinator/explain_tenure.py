"""Explain a job that runs: who has it, and what ends that."""

from dataclasses import replace

from app.coordinator.explain_pair import PairExplanation
from app.fleet import JobState
from app.store import jobs
from app.store.explaining import Situation
from app.store.session import Connection
from app.tenure import Tenure, tenure_of


async def tenure_now(conn: Connection, situation: Situation) -> Tenure | None:
    """Find out who runs a job, if it runs, and still does when this is read."""
    job = situation.job
    if job.state is not JobState.LEASED:
        return None
    found = await jobs.by_ids(conn, [job.id])
    return tenure_of(found[job.id], situation.ctx.now) if job.id in found else None


def known_to_hold(pair: PairExplanation, tenure: Tenure | None) -> PairExplanation:
    """Answer for the very factory that runs the job that it has it, not why it could not get it."""
    if tenure is None or tenure.factory_id != pair.factory_id:
        return pair
    said = f"{pair.factory_id} has {pair.job_id} already, under fence {tenure.fence}."
    return replace(pair, headline=said)
