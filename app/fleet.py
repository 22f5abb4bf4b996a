"""The nouns of the fleet: jobs, factories, and what is known of both.

Everything here is a value: frozen, comparable, without behaviour beyond what follows from its own
fields. Decisions over these values live in :mod:`app.scheduler`, :mod:`app.lease` and their
neighbours; rows of the database and bodies of HTTP requests have shapes of their own and are
translated at the two borders (``store`` and ``api``).

All times are timezone-aware and come from the database's clock. Units are last in a name
(``lease_s``), and so are bounds (``attempts_max``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType, TypeAlias
from uuid import UUID

JobId = NewType("JobId", UUID)
FactoryId = NewType("FactoryId", str)
DecisionId = NewType("DecisionId", UUID)
TokenId = NewType("TokenId", UUID)
ClassId = NewType("ClassId", int)

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]

ENGINE_PREFIX = "engine:"
"""An engine can be required as well as preferred: a factory offers ``engine:<name>`` for each."""


class Priority(StrEnum):
    """How urgent a job is. It breaks ties between equal scores and is not a term of the score."""

    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class CostClass(StrEnum):
    """What a job costs to run, and (as a ceiling) what a factory is meant to run."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Health(StrEnum):
    """How a factory is: as it reports itself, or as its recent outcomes show."""

    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


class JobState(StrEnum):
    """Where a job is in its life; the transitions are the table in :mod:`app.lease`."""

    BLOCKED = "blocked"
    SCHEDULED = "scheduled"
    READY = "ready"
    HELD = "held"
    LEASED = "leased"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"


FINISHED = frozenset({JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED})


class IfParentFails(StrEnum):
    """What happens to a job when a job it depends on ends dead or cancelled."""

    CANCEL = "cancel"
    RUN = "run"


class Role(StrEnum):
    """Who a token speaks for."""

    OPS = "ops"
    CLIENT = "client"
    FACTORY = "factory"
    CRON = "cron"


class Outcome(StrEnum):
    """How one lease of a job ended, as its factory's record keeps it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RELEASED = "released"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An operator's word that stands until lifted or until its time: a drain, a pause, a hold."""

    reason: str
    by: str
    until: datetime | None = None

    def in_force(self, now: datetime) -> bool:
        """Whether it still stands at ``now``; one with an ``until`` ends by itself."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClass:
    """Everything that eligibility and score depend on, age and repo aside (DESIGN §2).

    Within a class and equal affinity to a repo an older job never ranks below a younger one, so
    only the oldest, the *head*, can win.
    """

    required: frozenset[str] = frozenset()
    prefers_engine: str | None = None
    cost_class: CostClass = CostClass.LOW
    priority: Priority = Priority.NORMAL
    lock: str | None = None
    excluded: frozenset[FactoryId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as the scheduler sees it: the facts a decision may rest on, and no more."""

    id: JobId
    job_class: JobClass
    created_at: datetime
    repo: str | None = None
    state: JobState = JobState.READY
    version: int = 1
    run_after: datetime | None = None
    unfinished_parents: tuple[JobId, ...] = ()
    hold: Standing | None = None
    lease_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """A factory as the scheduler sees it.

    ``seats_used`` counts the leases the coordinator knows the factory holds; ``health`` is the
    worse of what it reports and what its outcomes show; ``warm_repos`` is already limited (declared
    ones first, then its newest successes); ``cooldown_until`` is its account's.
    """

    id: FactoryId
    capabilities: frozenset[str] = frozenset()
    engines: frozenset[str] = frozenset()
    warm_repos: frozenset[str] = frozenset()
    cost_ceiling: CostClass = CostClass.HIGH
    seat_limit: int = 1
    seats_used: int = 0
    external_load: int = 0
    health: Health = Health.OK
    drain: Standing | None = None
    pause: Standing | None = None
    quarantined_until: datetime | None = None
    account: str | None = None
    cooldown_until: datetime | None = None
    last_seen_at: datetime | None = None
    last_served_at: datetime | None = None
    offered: frozenset[str] = field(init=False, repr=False, compare=False)
    """Its capabilities, and ``engine:<name>`` for each of its engines; worked out once."""

    def __post_init__(self) -> None:
        engines = {ENGINE_PREFIX + engine for engine in self.engines}
        object.__setattr__(self, "offered", self.capabilities | engines)

    @property
    def load(self) -> int:
        """Jobs it is busy with: leases the coordinator knows of, and what it reports besides."""
        return self.seats_used + self.external_load

    @property
    def seats_free(self) -> int:
        """Leases it may still take; never negative, though a late renewal may over-commit it."""
        return max(0, self.seat_limit - self.seats_used)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """Who holds a lock, for as long as its lease has not lapsed."""

    job_id: JobId
    factory_id: FactoryId | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a decision needs beside jobs and factories: the time, and which locks are held."""

    now: datetime
    locks: Mapping[str, LockHolder] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A job as a client asks for it; ``ref`` and ``depends_on_refs`` tie members of a batch."""

    kind: str
    job_class: JobClass
    repo: str | None = None
    payload: JsonObject = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    depends_on: tuple[JobId, ...] = ()
    depends_on_refs: tuple[str, ...] = ()
    ref: str | None = None
    if_parent_fails: IfParentFails = IfParentFails.CANCEL
    run_after: datetime | None = None
    timeout_s: int = 4 * 3600
    attempts_max: int = 3
    dedupe_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as people and factories read it: everything stored of it that may be shown."""

    id: JobId
    version: int
    kind: str
    state: JobState
    job_class: JobClass
    repo: str | None
    payload: JsonObject
    labels: Mapping[str, str]
    depends_on: tuple[JobId, ...]
    if_parent_fails: IfParentFails
    run_after: datetime | None
    timeout_s: int
    attempts: int
    attempts_max: int
    dedupe_key: str | None
    hold: Standing | None
    factory_id: FactoryId | None
    fence: int
    fence_open: bool
    claimed_at: datetime | None
    lease_expires_at: datetime | None
    cancel_requested: bool
    result: Json
    error: str | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorySpec:
    """A factory as it registers itself, or as ops describe it (``PUT /factories/{id}``)."""

    id: FactoryId
    capabilities: frozenset[str] = frozenset()
    engines: frozenset[str] = frozenset()
    warm_repos: tuple[str, ...] = ()
    cost_ceiling: CostClass = CostClass.HIGH
    seat_limit: int = 1
    health: Health = Health.OK
    external_load: int = 0
    account: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryRecord:
    """A factory as people read it: what it declared, what ops decided, what its outcomes show."""

    spec: FactorySpec
    version: int
    health: Health
    seats_used: int
    seat_limit_override: int | None
    cost_ceiling_override: CostClass | None
    drain: Standing | None
    pause: Standing | None
    quarantined_until: datetime | None
    cooldown_until: datetime | None
    stale: bool
    last_seen_at: datetime
    last_served_at: datetime | None
    registered_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is calling: the token's identity, as every write records it in ``by``."""

    token_id: TokenId
    role: Role
    name: str
    factory_id: FactoryId | None = None
