"""The repo tick: once per repo, in the order of ids, one cycle of its feature chain.

The forge is read first, while no connection is held; :mod:`app.coordinator.repo_cycle` does one
repo in a transaction of its own; :mod:`app.coordinator.ticking` sees that ticks take turns. An
error concerns the repo it happened to: it is logged and reported, and the tick goes on. A disabled
repo dispatches nothing, but its run that is under way is still polled.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from app.coordinator.repo_cycle import Cycle, run_cycle
from app.coordinator.repo_forge import Known, Sight, look
from app.coordinator.ticking import STOPS, Occasion, Ticked, Turn, complain, take_turn
from app.errors import NotFound
from app.fleet import Json
from app.forge.port import Forge
from app.repo import Repo, RepoId
from app.store import repo_work, repos
from app.store.session import Connection, Database

PAGE: Final = 500
ASKED_AT_ONCE: Final = 8
"""For how many repos the forge is asked at a time."""


async def tick_repos(db: Database, occasion: Occasion, forge: Forge | None = None) -> Ticked:
    """Do one tick over repos, unless another tick is at it.

    Raises:
        Unavailable: the database cannot be reached; what was committed before stays.
    """
    return await take_turn(db, occasion, hear=lambda: _hear(db, forge), work=_work)


async def _hear(db: Database, forge: Forge | None) -> list[tuple[Repo, Sight]]:
    """Look at all repos at the forge, holding no connection."""
    async with db.connection() as conn:
        found = await _all(conn)
        known = await _known(conn, found)
    return [*zip(found, await _look(forge, known), strict=True)]


async def _work(turn: Turn, seen: Sequence[tuple[Repo, Sight]]) -> Ticked:
    shown: list[Json] = []
    errors: list[Json] = []
    reasons: dict[str, Json] = {}
    for repo, sight in seen:
        try:
            cycle = await _cycle(turn, repo.id, sight)
        except STOPS:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the others must go on
            errors.append({"repo_id": repo.id, "error": complain(f"repo {repo.id}", error)})
            continue
        if cycle is None:
            continue
        if sight.silent is not None:
            errors.append({"repo_id": repo.id, "error": sight.silent})
        errors.extend({"repo_id": repo.id, "error": each} for each in cycle.complaints)
        if repo.enabled:
            shown.append(cycle.as_json() | ({"job_id": None} if turn.rehearsal else {}))
        if cycle.decision.skipped is not None:
            reasons[repo.id] = cycle.decision.skipped.value
    return Ticked(report={"repos": shown, "errors": errors}, reasons=reasons)


async def _all(conn: Connection) -> list[Repo]:
    found: list[Repo] = []
    while page := await repos.page(conn, after=found[-1].id if found else None, limit=PAGE):
        found += [each.repo for each in page]
    return found


async def _known(conn: Connection, found: Sequence[Repo]) -> list[Known]:
    known: list[Known] = []
    for repo in found:
        if repo.github is None:
            known.append(Known(repo=repo))
            continue
        pulls = await repo_work.pulls(conn, repo.id)
        issues = await repo_work.issues(conn, repo.id)
        known.append(
            Known(
                repo=repo,
                pulls={each.number: each for each in pulls},
                issues={each.number: each for each in issues},
            )
        )
    return known


async def _look(forge: Forge | None, known: Sequence[Known]) -> list[Sight]:
    few = asyncio.Semaphore(ASKED_AT_ONCE)

    async def ask(each: Known) -> Sight:
        async with few:
            try:
                return await look(forge, each)
            except Exception as error:  # noqa: BLE001 - whatever it was, the others are asked
                said = complain(f"forge of repo {each.repo.id}", error)
                return Sight(silent=f"the forge was not read: {said}")

    return await asyncio.gather(*(ask(each) for each in known))


async def _cycle(turn: Turn, repo_id: RepoId, sight: Sight) -> Cycle | None:
    """Do the cycle of a repo; None if it was deleted just now."""
    try:
        return await turn.write(lambda conn: run_cycle(conn, repo_id, sight))
    except NotFound:
        return None
