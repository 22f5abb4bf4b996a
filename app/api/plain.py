"""Replies of hot routes as plain values, member by member what the models of the wire say.

The models stand in the contract and in the full way of everything else; here, building one only to
write it would cost more than everything else together. A property test compares the two.
"""

from typing import Any

from app.coordinator.claim import Claim
from app.coordinator.heartbeat import HeartbeatAnswer
from app.coordinator.receipts import FinishOutcome
from app.coordinator.renew import LeaseAnswer
from app.coordinator.submit import Submitted
from app.fleet import JobRecord, Standing
from app.tick_jobs import shown_key

Plain = dict[str, Any]


def claim(won: Claim) -> Plain:
    """Show a job that was handed out, as :class:`app.wire.claims.ClaimReply` does."""
    return {
        "job": job(won.job),
        "lease": {
            "fence": won.fence,
            "expires_at": won.expires_at,
            "next_heartbeat_s": won.next_heartbeat_s,
        },
        "score": {"total": won.score.total, "breakdown": won.score.breakdown.as_dict()},
        "decision_id": won.decision_id,
    }


def job(record: JobRecord) -> Plain:
    """Show a job, as :class:`app.wire.jobs.JobReply` does."""
    job_class = record.job_class
    return {
        "id": record.id,
        "version": record.version,
        "kind": record.kind,
        "state": record.state,
        "repo": record.repo,
        "payload": record.payload,
        "prefers_engine": job_class.prefers_engine,
        "required_capabilities": sorted(job_class.required),
        "priority": job_class.priority,
        "cost_class": job_class.cost_class,
        "lock": job_class.lock,
        "excluded_factories": sorted(job_class.excluded),
        "depends_on": record.depends_on,
        "if_parent_fails": record.if_parent_fails,
        "run_after": record.run_after,
        "timeout_s": record.timeout_s,
        "attempts": record.attempts,
        "max_attempts": record.attempts_max,
        "dedupe_key": shown_key(record.dedupe_key),
        "labels": record.labels,
        "hold": _standing(record.hold),
        "factory_id": record.factory_id,
        "fence": record.fence,
        "fence_open": record.fence_open,
        "claimed_at": record.claimed_at,
        "lease_expires_at": record.lease_expires_at,
        "cancel_requested": record.cancel_requested,
        "result": record.result,
        "error": record.error,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "finished_at": record.finished_at,
    }


def submitted(taken: Submitted) -> Plain:
    """Show a job as it was accepted, as :class:`app.wire.jobs.SubmittedJob` does."""
    return {**job(taken.job), "warnings": taken.warnings}


def settled(outcome: FinishOutcome) -> Plain:
    """Show what became of a report, as :class:`app.wire.claims.SettledReply` does."""
    return {
        "job": {"id": outcome.job_id, "state": outcome.state, "version": outcome.version},
        "outcome": outcome.outcome,
        "replayed": outcome.replayed,
    }


def lease_outcome(outcome: FinishOutcome) -> Plain:
    """Show what became of one of several reports, as :class:`app.wire.claims.LeaseOutcome` does."""
    return {
        "job_id": outcome.job_id,
        "outcome": outcome.outcome,
        "state": outcome.state,
        "version": outcome.version,
        "replayed": outcome.replayed,
    }


def lease(renewed: LeaseAnswer) -> Plain:
    """Show what became of a lease, as :class:`app.wire.factories.LeaseReply` does."""
    return {
        "job_id": renewed.job_id,
        "outcome": renewed.outcome,
        "expires_at": renewed.expires_at,
    }


def heartbeat(heard: HeartbeatAnswer) -> Plain:
    """Answer a sign of life, as :class:`app.wire.factories.HeartbeatReply` does."""
    return {
        "leases": [lease(each) for each in heard.leases],
        "drain": heard.drain,
        "next_heartbeat_s": heard.next_heartbeat_s,
    }


def _standing(ordered: Standing | None) -> Plain | None:
    if ordered is None:
        return None
    return {"reason": ordered.reason, "by": ordered.by, "until": ordered.until}
