"""What others are about to take, as far as a claim has met them by losing to them."""

from dataclasses import dataclass, field, replace

from app.fleet import Job, JobId, LockHolder
from app.heads import Heads
from app.store.claims import CommitOutcome


@dataclass(slots=True, kw_only=True)
class Race:
    """What others are about to take: jobs at the version that was lost, and locks."""

    jobs: set[tuple[JobId, int]] = field(default_factory=set)
    locks: dict[str, LockHolder] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is left alone because of it."""
        return bool(self.jobs or self.locks)

    def note(self, job: Job, outcome: CommitOutcome) -> None:
        """Note a pick that was lost to somebody; facts of the factory itself are just read anew."""
        lock = job.job_class.lock
        if outcome is CommitOutcome.LOCK_TAKEN and lock is not None:
            self.locks[lock] = LockHolder(job_id=job.id)
        elif outcome is CommitOutcome.JOB_MOVED:
            self.jobs.add((job.id, job.version))

    def without(self, heads: Heads) -> Heads:
        """Take out of a group what others are about to take."""
        if not self.jobs:
            return heads
        left = tuple(job for job in heads.jobs if (job.id, job.version) not in self.jobs)
        return replace(heads, jobs=left)
