"""Who bids for jobs in a match: factories, and camps of factories that want the same.

The changing half of :func:`app.scheduler.match`. A pick makes its factory busier, hence its
standing lower; it neither reorders what the factory wants nor touches anybody else. So a camp keeps
one wish list and a heap of turns, and its best pair is the top of both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import heappop, heappush

from app.fleet import Factory, FactoryId
from app.scoring import Weights, standing_score
from app.wishlist import Pool, Profile, WishList, wishes_of

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Bidder:
    """A factory in the course of one match."""

    factory: Factory
    wanted: int
    served: tuple[int, datetime, int]
    standing: int
    taken: int = 0

    def as_it_stands(self) -> Factory:
        """The factory, with what it took in this match counted as load."""
        if not self.taken:
            return self.factory
        return replace(self.factory, seats_used=self.factory.seats_used + self.taken)

    def turn(self) -> tuple[int, tuple[int, datetime, int], FactoryId]:
        """The order among factories that want the same, smallest first; ids make it total."""
        return (-self.standing, self.served, self.factory.id)

    def serve(self, ordinal: int, weights: Weights) -> None:
        """Count one more job on it, and let those come first who were served before."""
        self.taken += 1
        self.wanted -= 1
        self.served = (2, _NEVER, ordinal)
        self.standing = standing_score(self.factory, weights, busier=self.taken)


@dataclass(slots=True, kw_only=True)
class Camp:
    """Factories that want the same things in the same order; they share one wish list."""

    wishes: WishList
    turns: list[tuple[tuple[int, tuple[int, datetime, int], FactoryId], Bidder]]

    def bid(self) -> tuple[int, int, tuple[int, datetime, int], FactoryId]:
        """The order of its best pair among all pairs, smallest first."""
        (standing, served, factory_id), _ = self.turns[0]
        return (standing - self.wishes.top_score, self.wishes.top, served, factory_id)

    def serve(self, ordinal: int, weights: Weights) -> None:
        """Count a job on the factory whose turn it is, and let it queue again if it wants more."""
        _, bidder = heappop(self.turns)
        bidder.serve(ordinal, weights)
        if bidder.wanted > 0:
            heappush(self.turns, (bidder.turn(), bidder))


def camps(able: Iterable[tuple[Factory, int]], pool: Pool, weights: Weights) -> tuple[Camp, ...]:
    """Put factories that can be given so many jobs, at least one, into their camps."""
    found: dict[Profile, Camp] = {}
    for factory, wanted in able:
        profile = pool.profile(factory)
        if profile not in found:
            found[profile] = Camp(wishes=wishes_of(factory, pool, weights), turns=[])
        bidder = Bidder(
            factory=factory,
            wanted=wanted,
            served=_served(factory),
            standing=standing_score(factory, weights),
        )
        heappush(found[profile].turns, (bidder.turn(), bidder))
    return tuple(found.values())


def _served(factory: Factory) -> tuple[int, datetime, int]:
    if factory.last_served_at is None:
        return (0, _NEVER, 0)
    return (1, factory.last_served_at, 0)
