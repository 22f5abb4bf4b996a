"""Choose: match over as few heads as give the same picks as all ready jobs would.

The law is :mod:`app.heads`; here its rows are fetched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.coordinator.catalog import Catalog
from app.coordinator.race import Race
from app.fleet import ClassId, Context, FactoryId, JobClass
from app.heads import Group, Heads, Kin, run_out, warm_groups
from app.scheduler import Pick, Seeker, match, open_seekers
from app.store.heads import heads
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
    around: Race | None = None,
    known: Supply | None = None,
) -> tuple[Pick, ...]:
    """Match over as few heads as give the same picks as all ready jobs would.

    How deep a group is fetched at first is a guess from the last batch; what runs out is fetched
    deeper, the first ones first, until nothing that matters does. What others are about to take is
    left out, and so many more are fetched.
    """
    around = around or Race()
    # As they are now: another batch may learn of others, and forget some, while this one reads.
    groups = catalog.groups
    supply = {} if known is None else {g: h for g, h in known.heads.items() if g.of in groups}
    asked = set() if known is None else set(known.asked)
    seekers = open_seekers(seekers, ctx)
    most = sum(seeker.wanted for seeker in seekers)
    depths = catalog.depths(
        catalog.needed(seeker.factory for seeker in seekers) - asked, most, around, groups
    )
    while True:
        if depths:
            supply = await _deeper(conn, groups, depths, around.of_each, supply)
            asked.update(depths)
        left = [around.without(heads) for heads in supply.values()]
        candidates = {job.id: job for heads in left for job in heads.jobs}
        picks = match(seekers, candidates.values(), ctx)
        if short := run_out(left, picks, seekers, ctx):
            depths = around.past(dict(islice(short.items(), REFILLS_MAX)), groups)
            continue
        near = warm_groups(left, picks, seekers, ctx)
        if not (warm := _in_warm_repos(seekers, near) - asked):
            catalog.drained(left, picks)
            catalog.expect(seekers, near)
            around.settle(seekers, picks)
            return picks
        depths = catalog.depths(warm, most, around, groups)


def _in_warm_repos(
    seekers: Iterable[Seeker], near: Mapping[FactoryId, Sequence[Group]]
) -> set[Group]:
    return {
        group._replace(repo=repo)
        for seeker in seekers
        for group in near.get(seeker.factory.id, ())
        for repo in seeker.factory.warm_repos
    }


async def _deeper(
    conn: Connection,
    known: Mapping[ClassId | Kin, JobClass],
    depths: Mapping[Group, int],
    of_each: int,
    supply: Mapping[Group, Heads],
) -> dict[Group, Heads]:
    """Fetch groups so deep; one that has no ready job any more is forgotten.

    Remembered as it was, it would be asked for again, and again.
    """
    fetched = await heads(conn, depths, of_each, known)
    return {group: known for group, known in supply.items() if group not in depths} | fetched
