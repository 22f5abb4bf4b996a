"""Repos of the feature chain: set up, ticked, and their jobs ended as a factory would."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from app.coordinator.repo_settings import put_repo
from app.coordinator.tick_repos import tick_repos
from app.coordinator.ticking import Occasion, TickKind
from app.fleet import Json
from app.forge.port import Forge
from app.repo import RepoId
from app.store.session import Database
from tests.core.chain_world import RepoFields, make_repo


async def set_up(db: Database, repo_id: str = "shop", **fields: Unpack[RepoFields]) -> RepoId:
    """Make a repo with all features off, unless told otherwise."""
    repo = replace(make_repo(**fields), id=RepoId(repo_id))
    await put_repo(db, repo, keeps_focus=False)
    return repo.id


async def a_factory(db: Database, name: str = "f1", capabilities: Iterable[str] = ()) -> None:
    """Register a factory, so that jobs can be placed."""
    async with db.transaction() as conn:
        await conn.execute(
            "insert into factory (id, declared_cost_ceiling, declared_seat_limit, capabilities)"
            " values ($1, 'high', 1, $2)",
            name,
            list(capabilities),
        )
        await conn.execute("insert into factory_pulse (factory_id, health) values ($1, 'ok')", name)
        await conn.execute("insert into factory_seat (factory_id, seat_limit) values ($1, 1)", name)


async def tick(
    db: Database, forge: Forge | None = None, *, dry_run: bool = False
) -> dict[str, Any]:
    """Do a tick over repos."""
    occasion = Occasion(kind=TickKind.REPOS, dry_run=dry_run)
    return (await tick_repos(db, occasion, forge)).answer


async def dispatched(db: Database, forge: Forge | None = None) -> dict[str, Json]:
    """Do a tick, and say what each repo dispatched."""
    report = await tick(db, forge)
    assert report["skipped"] is None
    return {each["repo_id"]: each["dispatched"] for each in report["repos"]}


async def end_jobs(db: Database, state: str = "succeeded", result: Json = None) -> int:
    """End every unfinished job, as if factories had; returns how many there were."""
    async with db.transaction() as conn:
        rows = await conn.fetch(
            "update job set state = $1, result = $2::jsonb, finished_at = now(),"
            " version = version + 1 where finished_at is null returning id",
            state,
            {} if result is None else result,
        )
    return len(rows)
