"""The tables, as SQLModel declares them; alembic's migrations are held to them by a test.

Row-lock order in every statement that takes several: **factory_seat → job → job_lock** (CLAIM.md,
lesson 3), each in the order of its key. Hot rows are narrow: what a decision was (``decision``) and
what happened (``job_event``) are appended elsewhere. A factory's signs of life live apart from its
settings (``factory_pulse``), so that a heartbeat moves no version and takes no seat lock.

Rows never leave ``store``; the modules beside this one translate them into values of
:mod:`app.fleet`.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlmodel import Field, SQLModel

_NOW = text("now()")
_EMPTY_OBJECT = text("'{}'::jsonb")


def _time(*, nullable: bool = True, now: bool = False) -> Column[datetime]:
    return Column(DateTime(timezone=True), nullable=nullable, server_default=_NOW if now else None)


def _texts() -> Column[list[str]]:
    return Column(ARRAY(Text), nullable=False, server_default=text("'{}'::text[]"))


def _json(*, nullable: bool = False) -> Column[Any]:
    return Column(
        JSONB(none_as_null=True),
        nullable=nullable,
        server_default=None if nullable else _EMPTY_OBJECT,
    )


class JobClassRow(SQLModel, table=True):
    """What a job's eligibility and score depend on, age and repo aside; immutable once written.

    ``digest`` is the SHA-256 of the canonical form, so that the same class is found again.
    ``created_xid`` lets a reader ask for "classes that I may not have seen", exactly: those of
    transactions at or after the oldest one that was running when it last read.
    """

    __tablename__ = "job_class"

    id: int | None = Field(default=None, sa_column=Column(BigInteger, Identity(), primary_key=True))
    digest: bytes = Field(sa_column=Column(LargeBinary, nullable=False, unique=True))
    required: list[str] = Field(sa_column=_texts())
    prefers_engine: str | None = Field(default=None, sa_type=Text)
    cost_class: str = Field(sa_type=Text)
    priority: str = Field(sa_type=Text)
    lock: str | None = Field(default=None, sa_type=Text)
    excluded: list[str] = Field(sa_column=_texts())
    created_xid: int = Field(
        sa_column=Column(
            BigInteger,
            nullable=False,
            index=True,
            server_default=text("(pg_current_xact_id()::text::bigint)"),
        )
    )


class JobLockRow(SQLModel, table=True):
    """A named lock; the row is permanent, made with the first class that names it.

    ``lapsed``: the holder's lease has ended but nobody closed its fence; any job may take the lock,
    and that closes it.
    """

    __tablename__ = "job_lock"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    holder_job: UUID | None = None
    holder_fence: int | None = Field(default=None, sa_type=BigInteger)
    lapsed: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})

    __table_args__ = (
        Index(
            "ix_job_lock_held",
            "name",
            postgresql_where=text("holder_job is not null and not lapsed"),
        ),
    )


class JobRow(SQLModel, table=True):
    """A job. Whoever changes it compares ``version`` (a holder: its fence) and adds one.

    ``fence_open`` is half of the truth: with a lock in the class, the lock row must also still name
    (job, fence). ``seated``: it occupies one of its holder's seats now. ``parents_left`` counts
    unfinished parents, ``dependants`` those that wait or waited for this one. ``wake_at``: when the
    lease loop must look at it next (lease end, timeout, grace, cancel deadline, run_after, until of
    a hold), as :mod:`app.lease` computes it.
    """

    __tablename__ = "job"

    id: UUID = Field(primary_key=True)
    class_id: int = Field(
        sa_column=Column(BigInteger, ForeignKey("job_class.id"), nullable=False, index=True)
    )
    state: str = Field(sa_type=Text)
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    kind: str = Field(sa_type=Text)
    repo: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(sa_column=_time(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=_time(nullable=False, now=True))

    fence: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("0")})
    fence_open: bool = Field(sa_column_kwargs={"server_default": text("false")})
    holder: str | None = Field(default=None, sa_type=Text)
    seated: bool = Field(sa_column_kwargs={"server_default": text("false")})
    lease_s: int | None = None
    claimed_at: datetime | None = Field(default=None, sa_column=_time())
    lease_expires_at: datetime | None = Field(default=None, sa_column=_time())
    cancel_requested_at: datetime | None = Field(default=None, sa_column=_time())
    cancel_deadline_at: datetime | None = Field(default=None, sa_column=_time())
    wake_at: datetime | None = Field(default=None, sa_column=_time())

    attempts: int = Field(sa_column_kwargs={"server_default": text("0")})
    attempts_max: int
    timeout_s: int
    run_after: datetime | None = Field(default=None, sa_column=_time())
    if_parent_fails: str = Field(sa_type=Text)
    parents_left: int = Field(sa_column_kwargs={"server_default": text("0")})
    dependants: int = Field(sa_column_kwargs={"server_default": text("0")})
    cancelled_by_parent: UUID | None = None

    hold_reason: str | None = Field(default=None, sa_type=Text)
    hold_by: str | None = Field(default=None, sa_type=Text)
    hold_until: datetime | None = Field(default=None, sa_column=_time())

    dedupe_key: str | None = Field(default=None, sa_type=Text)
    payload: dict[str, Any] = Field(sa_column=_json())
    labels: dict[str, str] = Field(sa_column=_json())
    result: Any = Field(default=None, sa_column=_json(nullable=True))
    error: str | None = Field(default=None, sa_type=Text)
    finished_at: datetime | None = Field(default=None, sa_column=_time())

    __table_args__ = (
        # The two that claims live on: heads of a class, and of a class within a warm repo.
        Index(
            "ix_job_ready",
            "class_id",
            "created_at",
            "id",
            postgresql_where=text("state = 'ready'"),
        ),
        Index(
            "ix_job_ready_repo",
            "repo",
            "class_id",
            "created_at",
            "id",
            postgresql_where=text("state = 'ready' and repo is not null"),
        ),
        # What the lease loop wakes up for.
        Index("ix_job_wake", "wake_at", postgresql_where=text("wake_at is not null")),
        # What a factory holds: open fences, seated or not.
        Index("ix_job_holder", "holder", postgresql_where=text("fence_open")),
        # One unfinished job per dedupe key, and after that for as long as the job is kept.
        Index(
            "uq_job_dedupe_key",
            "dedupe_key",
            unique=True,
            postgresql_where=text("dedupe_key is not null"),
        ),
        # Lists, newest first by id (UUIDv7), and the retention's sweep.
        Index("ix_job_state_id", "state", "id"),
        Index("ix_job_finished", "finished_at", postgresql_where=text("finished_at is not null")),
    )


class JobDependencyRow(SQLModel, table=True):
    """``job_id`` waits for ``parent_id``."""

    __tablename__ = "job_dependency"

    job_id: UUID = Field(
        sa_column=Column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    )
    parent_id: UUID = Field(
        sa_column=Column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, index=True)
    )


class JobEventRow(SQLModel, table=True):
    """What happened to a job, appended; a claim is in ``decision`` and is not repeated here.

    ``outcome`` is set on the events that end a lease, with the times of that lease: they are the
    factory's record (derived health) and the receipt of a fence. ``replay`` marks the call that
    closed it (complete, fail, release), so that repeating the call can be answered.
    """

    __tablename__ = "job_event"

    id: int | None = Field(default=None, sa_column=Column(BigInteger, Identity(), primary_key=True))
    job_id: UUID = Field(index=True)
    at: datetime = Field(sa_column=_time(nullable=False, now=True))
    event: str = Field(sa_type=Text)
    factory_id: str | None = Field(default=None, sa_type=Text)
    fence: int | None = Field(default=None, sa_type=BigInteger)
    outcome: str | None = Field(default=None, sa_type=Text)
    claimed_at: datetime | None = Field(default=None, sa_column=_time())
    by: str | None = Field(default=None, sa_type=Text)
    detail: dict[str, Any] = Field(sa_column=_json())

    __table_args__ = (
        Index(
            "ix_job_event_outcome",
            "factory_id",
            text("at desc"),
            postgresql_where=text("outcome is not null"),
        ),
    )


class DecisionRow(SQLModel, table=True):
    """Why a claim got what it got, written by the claim itself."""

    __tablename__ = "decision"

    id: UUID = Field(primary_key=True)
    at: datetime = Field(sa_column=_time(nullable=False, now=True))
    factory_id: str = Field(sa_type=Text)
    job_id: UUID = Field(index=True)
    fence: int = Field(sa_type=BigInteger)
    total: int
    record: dict[str, Any] = Field(sa_column=_json())

    __table_args__ = (
        Index("ix_decision_factory", "factory_id", "id"),
        Index("ix_decision_at", "at"),
    )


class FactoryRow(SQLModel, table=True):
    """A factory's settings: what it declared, and what ops decided over its head.

    ``declared_*`` is what the factory itself last said; an override by ops stands until ops change
    it. Every change here moves ``epoch`` on its seat row, so that no claim misses it.
    """

    __tablename__ = "factory"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    capabilities: list[str] = Field(sa_column=_texts())
    engines: list[str] = Field(sa_column=_texts())
    declared_cost_ceiling: str = Field(sa_type=Text)
    declared_seat_limit: int
    ops_cost_ceiling: str | None = Field(default=None, sa_type=Text)
    ops_seat_limit: int | None = None
    account: str | None = Field(default=None, sa_type=Text, index=True)
    labels: dict[str, str] = Field(sa_column=_json())
    drain_reason: str | None = Field(default=None, sa_type=Text)
    drain_by: str | None = Field(default=None, sa_type=Text)
    drain_until: datetime | None = Field(default=None, sa_column=_time())
    pause_reason: str | None = Field(default=None, sa_type=Text)
    pause_by: str | None = Field(default=None, sa_type=Text)
    pause_until: datetime | None = Field(default=None, sa_column=_time())
    quarantined_until: datetime | None = Field(default=None, sa_column=_time())
    quarantine_strikes: int = Field(sa_column_kwargs={"server_default": text("0")})
    quarantine_lifted_at: datetime | None = Field(default=None, sa_column=_time())
    registered_at: datetime = Field(sa_column=_time(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=_time(nullable=False, now=True))


class FactoryPulseRow(SQLModel, table=True):
    """A factory's signs of life: what heartbeats say. Moves no version."""

    __tablename__ = "factory_pulse"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    last_seen_at: datetime = Field(sa_column=_time(nullable=False, now=True))
    health: str = Field(sa_type=Text)
    external_load: int = Field(sa_column_kwargs={"server_default": text("0")})
    warm_repos: list[str] = Field(sa_column=_texts())


class FactorySeatRow(SQLModel, table=True):
    """A factory's seats, counted on a row of their own (CLAIM.md, lesson 1).

    Touched by claim, finish, expiry and changes of the limit, never by heartbeats. ``epoch`` grows
    whenever drain, pause, quarantine or settings change, so that a claim decided before fails.
    """

    __tablename__ = "factory_seat"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    seat_limit: int
    used: int = Field(sa_column_kwargs={"server_default": text("0")})
    epoch: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    last_served_at: datetime | None = Field(default=None, sa_column=_time())


class FactoryRepoRow(SQLModel, table=True):
    """Where a factory last succeeded, per repo: its warm clones beside the declared ones."""

    __tablename__ = "factory_repo"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    repo: str = Field(sa_column=Column(Text, primary_key=True))
    succeeded_at: datetime = Field(sa_column=_time(nullable=False))


class AccountRow(SQLModel, table=True):
    """A provider account that several factories share, and until when its usage limit holds."""

    __tablename__ = "account"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    cooldown_until: datetime | None = Field(default=None, sa_column=_time())


class ClaimKeyRow(SQLModel, table=True):
    """The leases that a claim with an idempotency key got, written by that claim."""

    __tablename__ = "claim_key"

    factory_id: str = Field(sa_column=Column(Text, primary_key=True))
    key: str = Field(sa_column=Column(Text, primary_key=True))
    leases: list[dict[str, Any]] = Field(sa_column=Column(JSONB, nullable=False))
    expires_at: datetime = Field(
        sa_column=Column(DateTime(timezone=True), nullable=False, index=True)
    )


class IdempotencyKeyRow(SQLModel, table=True):
    """The first answer to a creating POST, kept so that a repeat gets it again."""

    __tablename__ = "idempotency_key"

    scope: str = Field(sa_column=Column(Text, primary_key=True))
    key: str = Field(sa_column=Column(Text, primary_key=True))
    fingerprint: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    status: int | None = None
    body: Any = Field(default=None, sa_column=_json(nullable=True))
    expires_at: datetime = Field(
        sa_column=Column(DateTime(timezone=True), nullable=False, index=True)
    )


class TokenRow(SQLModel, table=True):
    """A bearer token, of which only the SHA-256 of its secret is known here."""

    __tablename__ = "token"

    id: UUID = Field(primary_key=True)
    role: str = Field(sa_type=Text)
    factory_id: str | None = Field(default=None, sa_type=Text)
    name: str = Field(sa_type=Text)
    digest: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: datetime = Field(sa_column=_time(nullable=False, now=True))
    expires_at: datetime | None = Field(default=None, sa_column=_time())
    revoked_at: datetime | None = Field(default=None, sa_column=_time())


class TickRow(SQLModel, table=True):
    """The report of a tick, for ``GET /ticks`` and for windows already served."""

    __tablename__ = "tick"

    id: UUID = Field(primary_key=True)
    kind: str = Field(sa_type=Text)
    window: str | None = Field(default=None, sa_type=Text)
    at: datetime = Field(sa_column=_time(nullable=False, now=True))
    report: dict[str, Any] = Field(sa_column=_json())

    __table_args__ = (
        Index("ix_tick_kind", "kind", "id"),
        Index(
            "uq_tick_window",
            "kind",
            "window",
            unique=True,
            postgresql_where=text('"window" is not null'),
        ),
    )
