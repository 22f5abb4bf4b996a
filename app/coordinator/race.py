"""What others are about to take: left alone, as whoever is first will have it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.eligibility import may_ever_take
from app.fleet import ClassId, Job, JobClass, JobId, LockHolder
from app.heads import Group, Heads, Kin
from app.scheduler import Pick, Seeker
from app.store.claims import CommitOutcome


@dataclass(slots=True, kw_only=True)
class Race:
    """What others are about to take: jobs at the version that was read, and locks.

    ``left`` tells whether anything was left alone because of it.
    """

    jobs: dict[tuple[JobId, int], Job] = field(default_factory=dict)
    locks: dict[str, LockHolder] = field(default_factory=dict)
    left: bool = False
    _alone: dict[ClassId | Kin, JobClass] = field(default_factory=dict)

    def note(self, job: Job, outcome: CommitOutcome) -> None:
        """Note a pick that was lost to somebody; facts of the factory itself are just read anew."""
        if outcome is CommitOutcome.LOCK_TAKEN:
            self._note_lock(job)
        elif outcome is CommitOutcome.JOB_MOVED:
            self.jobs[job.id, job.version] = job

    def beside(self, in_flight: Iterable[Job]) -> "Race":
        """Return it with what other batches of this process are about to take."""
        both = Race(jobs=dict(self.jobs), locks=dict(self.locks))
        for job in in_flight:
            both.jobs[job.id, job.version] = job
            both._note_lock(job)
        return both

    @property
    def of_each(self) -> int:
        """How many jobs of each class of a kin must be read to see one past these."""
        return 1 + self._locked

    def past(
        self, depths: Mapping[Group, int], classes: Mapping[ClassId | Kin, JobClass]
    ) -> dict[Group, int]:
        """Say how deep groups must be read to see so many rows past these."""
        if not self.jobs and not self.locks:
            return dict(depths)
        taken = Counter(job.job_class for job in self.jobs.values())
        of_each = self.of_each
        return {
            group: of_each * (depth + len(self.locks)) + self._locked
            if group.is_kin
            else depth + taken[classes[group.of]]
            for group, depth in depths.items()
        }

    def without(self, heads: Heads) -> Heads:
        """Take out of a group what others are about to take."""
        jobs, locks = self.jobs, self.locks
        if not jobs and not locks:
            return heads
        left = tuple(
            job
            for job in heads.jobs
            if (job.id, job.version) not in jobs and job.job_class.lock not in locks
        )
        if len(left) == len(heads.jobs):
            return heads
        self.left = True
        self._alone[heads.group.of] = heads.job_class
        return heads._replace(jobs=left)

    def settle(self, seekers: Iterable[Seeker], picks: Iterable[Pick]) -> None:
        """Forget what was left alone, but if somebody who got less than he wanted may take it."""
        got = Counter(pick.factory_id for pick in picks) if self.left else Counter()
        self.left = self.left and any(
            may_ever_take(job_class, seeker.factory.id, seeker.factory.offered)
            for seeker in seekers
            if got[seeker.factory.id] < seeker.wanted
            for job_class in self._alone.values()
        )

    @property
    def _locked(self) -> int:
        """How many of the jobs have a lock that nobody is about to take."""
        return sum(
            (lock := job.job_class.lock) is not None and lock not in self.locks
            for job in self.jobs.values()
        )

    def _note_lock(self, job: Job) -> None:
        lock = job.job_class.lock
        if lock is not None:
            self.locks[lock] = LockHolder(job_id=job.id)
