"""What one process remembers from claim to claim: job classes, who may take which, how fast.

Classes are immutable, so that each is read once. Everything else here is a guess, which costs or
saves a round trip and never decides anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from app.coordinator.race import Race
from app.fleet import ClassId, Factory, FactoryId, Job, JobClass, JobId
from app.heads import Group, Heads, Kin, groups_needed
from app.scheduler import Pick, Seeker
from app.shapes import Shape, shape_of
from app.store import claims
from app.store import classes as stored
from app.store.claims import NewClasses
from app.store.reading import Known
from app.store.session import Connection

_PROFILES_MAX: Final = 512
_FACTORIES_MAX: Final = 50_000
_IDS_MAX: Final = 2
_GROWTH_MIN: Final = 1_000
"""Once so many more than twice what there were are known, all are read anew."""

_Profile: TypeAlias = tuple[frozenset[str], FactoryId | None]


class _Last(NamedTuple):
    """What a factory was when it last claimed, and which groups it looked for in warm repos."""

    profile: _Profile
    warm_repos: frozenset[str]
    near: Sequence[Group] = ()


class Catalog:
    """A memory of all job classes; a miss is impossible after :meth:`refresh`.

    A class that was pruned may stay in memory for a while: looking for its jobs finds none. When it
    is made again it has another id, so that of each class the two last ids are kept and no more:
    else claims would look for more and more. Two, since the last id need not be the one in use:
    whoever was slow to make a class may have drawn his number before somebody who was fast.
    """

    def __init__(self) -> None:
        """Know nothing yet; the first refresh reads everything."""
        self.classes: dict[ClassId, JobClass] = {}
        self.groups: dict[ClassId | Kin, JobClass] = {}
        """Classes without a lock, and of each kin what its classes are but for their locks."""
        self.horizon = 0
        self._ids: dict[JobClass, list[ClassId]] = {}
        self._heads: dict[JobId, Job] = {}
        self._excluded: frozenset[FactoryId] = frozenset()
        self._by_lock: dict[str, list[JobClass]] = {}
        self._groups: dict[_Profile, frozenset[Group]] = {}
        self._last: dict[FactoryId, _Last] = {}
        self._drained: Counter[Group] = Counter()
        self._stocked: frozenset[Group] = frozenset()
        self._shapes: dict[JobClass, Shape] = {}
        self._shape_by_class: dict[ClassId, Shape] = {}
        self._grown_from = 0

    async def refresh(self, conn: Connection) -> None:
        """Read what was made since the last time."""
        self.learn(await claims.new_classes(conn, self.horizon))

    def learn(self, new: NewClasses) -> None:
        """Take over what was read of classes, and until when.

        Others may be reading as well, so that answers may come in another order than they were
        asked for. Only one that lists all may replace what is known; one that begins later than
        what is known ends, as after that was to be read anew, says nothing of the time between.
        """
        if not new.since:
            self._forget()
            self._grown_from = len(new.classes)
        if new.since <= self.horizon:
            self.horizon = new.horizon
        # A class that is read twice, as it was being committed, is no news.
        news = {each: new.classes[each] for each in new.classes.keys() - self.classes.keys()}
        if not news:
            return
        over: set[ClassId] = set()
        for class_id, each in news.items():
            self._excluded |= each.excluded
            if each.lock is not None and each not in self._ids:
                self._by_lock.setdefault(each.lock, []).append(each)
            ids = sorted({*self._ids.get(each, ()), class_id})
            self._ids[each] = ids[-_IDS_MAX:]
            over.update(ids[:-_IDS_MAX])
        # Not changed in place: others may be reading it in a thread.
        known = {**self.classes, **news}
        self.classes = {each: known[each] for each in known if each not in over}
        self._groups.clear()
        if over:
            self._shapes, self._shape_by_class = {}, {}
        self.groups = {
            **{of: each for of, each in self.groups.items() if of not in over},
            **dict(_group(class_id, each) for class_id, each in news.items()),
        }
        if len(self.classes) > 2 * self._grown_from + _GROWTH_MIN:
            # Most of them are pruned by now: a lock for each pull request makes a class for each.
            self.horizon = 0

    def _forget(self) -> None:
        self.classes, self.groups, self._excluded = {}, {}, frozenset()
        self._ids, self._by_lock, self._groups = {}, {}, {}
        self._shapes, self._shape_by_class = {}, {}

    def shapes(self) -> Sequence[Shape]:
        """List the shapes of all classes; sorted when somebody asks, as claims do not."""
        # A dict keeps its order: the new ones are the last; if one was forgotten, all are listed.
        for class_id, job_class in islice(self.classes.items(), len(self._shape_by_class), None):
            alike = shape_of(job_class)
            shape = self._shapes.setdefault(alike, Shape(job_class=alike))
            shape.class_ids.append(class_id)
            self._shape_by_class[class_id] = shape
        return tuple(self._shapes.values())

    def shape(self, class_id: ClassId) -> Shape | None:
        """Tell the shape of a class, if it was known when they were last listed."""
        return self._shape_by_class.get(class_id)

    @property
    def known(self) -> Known:
        """What need not be read again."""
        return Known(groups=self.groups, horizon=self.horizon, jobs=self._heads)

    def with_lock(self, name: str) -> list[JobClass]:
        """List the classes that take a lock."""
        return self._by_lock.get(name, [])

    def needed(self, factories: Iterable[Factory]) -> frozenset[Group]:
        """Name the groups over all repos that are needed to decide what these factories get."""
        profiles = {self._profile(factory) for factory in factories}
        return frozenset().union(*(self._needed(profile) for profile in profiles))

    def expected(self, ids: Iterable[FactoryId]) -> frozenset[Group]:
        """Name the groups that will be needed, if the factories are as they last were."""
        last = [self._last[each] for each in ids if each in self._last]
        plain = {each.profile for each in last}
        warm = {
            group._replace(repo=repo)
            for each in last
            for group in each.near
            if group.of in self.groups
            for repo in each.warm_repos
        }
        return frozenset(warm).union(*(self._needed(profile) for profile in plain))

    def expect(self, seekers: Iterable[Seeker], near: Mapping[FactoryId, Sequence[Group]]) -> None:
        """Remember for whom which groups were looked for in warm repos."""
        if len(self._last) > _FACTORIES_MAX:
            self._last.clear()
        for seeker in seekers:
            factory = seeker.factory
            self._last[factory.id] = _Last(
                profile=self._profile(factory),
                warm_repos=factory.warm_repos,
                near=near.get(factory.id, ()),
            )

    def depths(
        self,
        groups: Iterable[Group],
        most: int,
        race: Race,
        known: Mapping[ClassId | Kin, JobClass] | None = None,
    ) -> dict[Group, int]:
        """Guess how many heads of each group a batch of ``most`` picks needs, and one to spare.

        The spare one is the runner-up of the last; and of a group that had no job last time, it
        tells whether the one that came since is the only one. What others are about to take lies
        before what is left.
        """
        drained, stocked = self._drained, self._stocked
        bare = 1 if most > 1 else 0
        depths = {
            group: 1 + min(most, drained[group]) if group in stocked else 1 + bare
            for group in groups
        }
        return race.past(depths, self.groups if known is None else known)

    def drained(self, supply: Iterable[Heads], picks: Iterable[Pick]) -> None:
        """Remember what is left of the heads, and how many of each group the last batch used."""
        used = {pick.job.id for pick in picks}
        drained: Counter[Group] = Counter()
        left: dict[JobId, Job] = {}
        stocked: list[Group] = []
        for heads in supply:
            stocked.append(heads.group)
            for job in heads.jobs:
                if job.id in used:
                    drained[heads.group] += 1
                else:
                    left[job.id] = job
        self._drained, self._heads, self._stocked = drained, left, frozenset(stocked)

    def _profile(self, factory: Factory) -> _Profile:
        return (factory.offered, factory.id if factory.id in self._excluded else None)

    def _needed(self, profile: _Profile) -> frozenset[Group]:
        found = self._groups.get(profile)
        if found is None:
            if len(self._groups) > _PROFILES_MAX:
                self._groups.clear()
            found = self._groups[profile] = groups_needed(self.groups, *profile)
        return found


def _group(class_id: ClassId, job_class: JobClass) -> tuple[ClassId | Kin, JobClass]:
    kin = stored.kin(job_class)
    return (class_id, job_class) if kin is None else (kin, shape_of(job_class))
