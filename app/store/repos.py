"""Repos of the feature chain: their rows locked, read, written and removed."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime

from app.fleet import CostClass, JsonObject, Priority
from app.repo import CandidateId, ExploreLevel, Repo, RepoId
from app.store.session import Connection, Record
from app.store.sql import sql
from app.store.standings import columns_of, standing_in
from app.tick_jobs import JobDefaults


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoRecord:
    """A repo as people read it; ``last_cycle`` is what its last cycle came to, for them alone."""

    repo: Repo
    created_at: datetime
    updated_at: datetime
    last_cycle: JsonObject | None = None


async def lock(conn: Connection, repo_id: RepoId) -> bool:
    """Keep everything of a repo as it is until the transaction ends; whether it exists.

    Whoever changes anything of a repo does this first.
    """
    return await conn.fetchval(sql("repo_lock"), repo_id) is not None


async def by_ids(conn: Connection, ids: Collection[RepoId]) -> dict[RepoId, RepoRecord]:
    """Read repos; one that does not exist is left out."""
    rows = await conn.fetch(sql("repo_read"), list(ids))
    return {RepoId(row["id"]): _to_record(row) for row in rows}


async def page(conn: Connection, *, after: RepoId | None, limit: int) -> list[RepoRecord]:
    """Read repos by id, after one of them."""
    return [_to_record(row) for row in await conn.fetch(sql("repo_page"), after, limit)]


async def insert(conn: Connection, repo: Repo) -> bool:
    """Store a new repo; False if there is one of that id."""
    return await conn.fetchval(sql("repo_insert"), repo.id, *_columns(repo)) is not None


async def write(conn: Connection, repo: Repo) -> bool:
    """Change a repo that is still at the version that was read; its version moves."""
    row = await conn.fetchval(sql("repo_write"), repo.id, *_columns(repo), repo.version)
    return row is not None


async def remove(conn: Connection, repo_id: RepoId) -> None:
    """Delete a repo with all that belongs to it."""
    await conn.execute(sql("repo_remove"), repo_id)


async def keep_cycle(conn: Connection, repo_id: RepoId, cycle: JsonObject) -> None:
    """Keep what a repo's last cycle came to."""
    await conn.execute(sql("repo_keep_cycle"), repo_id, cycle)


async def by_github(conn: Connection, full_name: str) -> list[RepoId]:
    """Find the repos that a repository of the forge belongs to."""
    return [RepoId(row["id"]) for row in await conn.fetch(sql("repo_by_github"), full_name)]


async def take_delivery(conn: Connection, delivery_id: str, event: str) -> bool:
    """Take a delivery of the forge in; False if it was before."""
    return await conn.fetchval(sql("delivery_take"), delivery_id, event) is not None


def _columns(repo: Repo) -> tuple[object, ...]:
    return (
        repo.enabled,
        repo.objective,
        repo.focus,
        repo.focus_candidate_id,
        repo.explore_enabled,
        repo.explore_level.value,
        repo.pr_watching_enabled,
        repo.issue_solving_enabled,
        repo.issue_scout_enabled,
        repo.daily_run_cap,
        repo.cooldown_s,
        repo.timezone,
        repo.last_run_at,
        *columns_of(repo.paused),
        sorted(repo.required_capabilities),
        asdict(repo.job_defaults),
        repo.github,
    )


def _to_record(row: Record) -> RepoRecord:
    carried = row["focus_candidate_id"]
    return RepoRecord(
        repo=Repo(
            id=RepoId(row["id"]),
            version=row["version"],
            enabled=row["enabled"],
            objective=row["objective"],
            focus=row["focus"],
            focus_candidate_id=None if carried is None else CandidateId(carried),
            explore_enabled=row["explore_enabled"],
            explore_level=ExploreLevel(row["explore_level"]),
            pr_watching_enabled=row["pr_watching_enabled"],
            issue_solving_enabled=row["issue_solving_enabled"],
            issue_scout_enabled=row["issue_scout_enabled"],
            daily_run_cap=row["daily_run_cap"],
            cooldown_s=row["cooldown_s"],
            timezone=row["timezone"],
            last_run_at=row["last_run_at"],
            paused=standing_in(row, "pause"),
            required_capabilities=frozenset(row["required_capabilities"]),
            job_defaults=_defaults(row["job_defaults"]),
            github=row["github"],
        ),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_cycle=row["last_cycle"],
    )


def _defaults(stored: JsonObject) -> JobDefaults:
    values: dict[str, object] = dict(stored)
    values["priority"] = Priority(str(values["priority"]))
    values["cost_class"] = CostClass(str(values["cost_class"]))
    return JobDefaults(**values)  # type: ignore[arg-type]
