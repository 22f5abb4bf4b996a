"""Choose: match over as few heads as give the same picks as all ready jobs would.

The law is :mod:`app.heads`; here its rows are fetched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.coordinator.catalog import Catalog
from app.coordinator.race import Race
from app.fleet import Context
from app.heads import Group, Heads, run_out
from app.scheduler import Pick, Seeker, match, open_seekers
from app.store import claims
from app.store.session import Connection

REFILLS_MAX = 4
"""How many groups are fetched deeper at once: those that ran out first may spare the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Heads that were read already, and of how many groups, some of which had none."""

    asked: Mapping[Group, int]
    heads: Mapping[Group, Heads]


async def choose(
    conn: Connection,
    catalog: Catalog,
    seekers: Sequence[Seeker],
    ctx: Context,
    race: Race | None = None,
    known: Supply | None = None,
) -> tuple[Pick, ...]:
    """Match over as few heads as give the same picks as all ready jobs would.

    How deep a group is fetched at first is a guess from the last batch; what runs out is fetched
    deeper, the first ones first, until nothing that matters does. What others are about to take is
    left out, and so many more are fetched.
    """
    race = race or Race()
    supply = {} if known is None else {g: race.without(heads) for g, heads in known.heads.items()}
    seekers = open_seekers(seekers, ctx)
    needed = catalog.needed(seeker.factory for seeker in seekers)
    most = sum(seeker.wanted for seeker in seekers)
    depths = {
        group: catalog.depth(group, most) + len(race.jobs)
        for group in needed
        if known is None or group not in known.asked
    }
    while True:
        supply |= await _fetched(conn, catalog, depths, race, supply)
        candidates = {job.id: job for heads in supply.values() for job in heads.jobs}
        picks = match(seekers, candidates.values(), ctx)
        short = run_out(supply.values(), picks, catalog.classes, seekers, ctx)
        if not short:
            catalog.drained(supply.values(), picks)
            return picks
        depths = dict(islice(short.items(), REFILLS_MAX))
        depths = {group: depth + len(race.jobs) for group, depth in depths.items()}


async def _fetched(
    conn: Connection,
    catalog: Catalog,
    depths: Mapping[Group, int],
    race: Race,
    supply: dict[Group, Heads],
) -> dict[Group, Heads]:
    """Fetch groups so deep; one without a ready job is taken out of what was there before."""
    if not depths:
        return {}
    fetched = await claims.heads(conn, depths, catalog.classes)
    # A group that has no ready job any more must not be remembered as it was: it would be asked
    # for again, and again.
    for group in depths:
        supply.pop(group, None)
    return {heads.group: race.without(heads) for heads in fetched}
