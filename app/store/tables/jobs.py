"""Jobs: their classes, locks and dependencies."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, texts_column, time_column


class JobClassRow(SQLModel, table=True):
    """What a job's eligibility and score depend on, age and repo aside; immutable once written.

    ``digest`` is the SHA-256 of the canonical form, so that the same class is found again; ``kin``
    that of the form without the lock, where there is one: alike in all classes that differ in it.
    ``kin_key`` is the same, but empty where there is none: what a job's row is compared with.
    ``created_xid`` lets a reader ask for "classes that I may not have seen", exactly: those of
    transactions at or after the oldest one that was running when it last read.
    """

    __tablename__ = "job_class"

    id: int | None = Field(default=None, sa_column=Column(BigInteger, Identity(), primary_key=True))
    digest: bytes = Field(sa_column=Column(LargeBinary, nullable=False, unique=True))
    required: list[str] = Field(sa_column=texts_column())
    prefers_engine: str | None = Field(default=None, sa_type=Text)
    cost_class: str = Field(sa_type=Text)
    priority: str = Field(sa_type=Text)
    lock: str | None = Field(default=None, sa_type=Text)
    excluded: list[str] = Field(sa_column=texts_column())
    kin: bytes | None = Field(default=None, sa_type=LargeBinary)
    kin_key: bytes | None = Field(
        default=None,
        # As PostgreSQL writes it back, for whoever compares the two.
        sa_column=Column(
            LargeBinary, Computed(r"COALESCE(kin, '\x'::bytea)", persisted=True), nullable=False
        ),
    )
    created_xid: int = Field(
        sa_column=Column(
            BigInteger,
            nullable=False,
            index=True,
            server_default=text("(pg_current_xact_id()::text::bigint)"),
        )
    )

    __table_args__ = (
        # What the lease loop looks through for jobs that are excluded from all that could run them.
        Index("ix_job_class_excluding", "id", postgresql_where=text("excluded <> '{}'::text[]")),
        # What a claim needs to go through all classes of a kin, if the oldest jobs are not enough.
        Index(
            "ix_job_class_kin",
            "kin",
            postgresql_include=["id", "lock"],
            postgresql_where=text("kin is not null"),
        ),
        # Whether any class still names a lock.
        Index("ix_job_class_lock", "lock", postgresql_where=text("lock is not null")),
        CheckConstraint("(kin is null) = (lock is null)", name="ck_job_class_kin"),
        UniqueConstraint("id", "kin_key", name="uq_job_class_id_kin"),
    )


class JobLockRow(SQLModel, table=True):
    """A named lock; the row is made with the first class that names it, and goes with the last.

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

    ``kin`` is that of its class, for claims to walk through the jobs of a kin by their age.
    ``fence_open`` is half of the truth: with a lock in the class, the lock row must also still name
    (job, fence). ``seated``: it occupies one of its holder's seats now. ``parents_left`` counts
    unfinished parents, ``dependants`` those that wait or waited for this one. ``wake_at``: when the
    lease loop must look at it next (lease end, timeout, grace, cancel deadline, run_after, until of
    a hold), as :mod:`app.lease` computes it. ``submitted_by`` is the first event of its history: a
    row of that for every job would cost a bulk submission a third of its time.
    """

    __tablename__ = "job"

    id: UUID = Field(primary_key=True)
    class_id: int = Field(sa_column=Column(BigInteger, nullable=False, index=True))
    kin: bytes = Field(
        default=b"",
        sa_column=Column(LargeBinary, nullable=False, server_default=text("''::bytea")),
    )
    state: str = Field(sa_type=Text)
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    kind: str = Field(sa_type=Text)
    repo: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    submitted_by: str | None = Field(default=None, sa_type=Text)

    fence: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("0")})
    fence_open: bool = Field(sa_column_kwargs={"server_default": text("false")})
    holder: str | None = Field(default=None, sa_type=Text)
    seated: bool = Field(sa_column_kwargs={"server_default": text("false")})
    lease_s: int | None = None
    claimed_at: datetime | None = Field(default=None, sa_column=time_column())
    lease_expires_at: datetime | None = Field(default=None, sa_column=time_column())
    cancel_requested_at: datetime | None = Field(default=None, sa_column=time_column())
    cancel_deadline_at: datetime | None = Field(default=None, sa_column=time_column())
    wake_at: datetime | None = Field(default=None, sa_column=time_column())

    attempts: int = Field(sa_column_kwargs={"server_default": text("0")})
    attempts_max: int
    timeout_s: int
    run_after: datetime | None = Field(default=None, sa_column=time_column())
    if_parent_fails: str = Field(sa_type=Text)
    parents_left: int = Field(sa_column_kwargs={"server_default": text("0")})
    dependants: int = Field(sa_column_kwargs={"server_default": text("0")})
    cancelled_by_parent: UUID | None = None

    hold_reason: str | None = Field(default=None, sa_type=Text)
    hold_by: str | None = Field(default=None, sa_type=Text)
    hold_until: datetime | None = Field(default=None, sa_column=time_column())

    dedupe_key: str | None = Field(default=None, sa_type=Text)
    payload: dict[str, Any] = Field(sa_column=json_column())
    labels: dict[str, str] = Field(sa_column=json_column())
    result: Any = Field(default=None, sa_column=json_column(nullable=True))
    error: str | None = Field(default=None, sa_type=Text)
    finished_at: datetime | None = Field(default=None, sa_column=time_column())

    __table_args__ = (
        ForeignKeyConstraint(
            ["class_id", "kin"], ["job_class.id", "job_class.kin_key"], name="fk_job_class"
        ),
        # Those that claims live on: heads of a class, and of a class within a warm repo; jobs with
        # a lock also by kin.
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
        Index(
            "ix_job_ready_kin",
            "kin",
            "created_at",
            "id",
            postgresql_where=text("state = 'ready' and kin <> ''::bytea"),
        ),
        Index(
            "ix_job_ready_kin_repo",
            "repo",
            "kin",
            "created_at",
            "id",
            postgresql_where=text("state = 'ready' and repo is not null and kin <> ''::bytea"),
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
        # Lists by state, newest first by id (UUIDv7), and counts of what waits. Only of states that
        # a job that goes well does not pass through: those it does are in other indexes, and every
        # index that a row is in is written at each of its steps.
        Index(
            "ix_job_aside",
            "state",
            "id",
            postgresql_where=text("state in ('blocked', 'scheduled', 'held', 'dead', 'cancelled')"),
        ),
        # The retention's sweep.
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
