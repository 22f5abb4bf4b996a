"""Repos of the feature chain: settings, candidates, pull requests, issues, runs, deliveries."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Text,
    text,
)
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, texts_column, time_column

_ONE = {"server_default": text("1")}
_ZERO = {"server_default": text("0")}
_OFF = {"server_default": text("false")}


def _repo_column(*, key: bool = False) -> Column[str]:
    return Column(Text, ForeignKey("repo.id", ondelete="CASCADE"), primary_key=key, nullable=False)


class RepoRow(SQLModel, table=True):
    """A repo: its settings, and what its last cycle came to.

    Whoever changes anything of a repo locks this row first, so that one thing happens to a repo at
    a time. ``last_cycle`` is a record for people and moves no version.
    """

    __tablename__ = "repo"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    version: int = Field(sa_type=BigInteger, sa_column_kwargs=_ONE)
    enabled: bool = Field(sa_column_kwargs={"server_default": text("true")})
    objective: str | None = Field(default=None, sa_type=Text)
    focus: str | None = Field(default=None, sa_type=Text)
    focus_candidate_id: UUID | None = None
    explore_enabled: bool = Field(sa_column_kwargs=_OFF)
    explore_level: str = Field(sa_type=Text)
    pr_watching_enabled: bool = Field(sa_column_kwargs=_OFF)
    issue_solving_enabled: bool = Field(sa_column_kwargs=_OFF)
    issue_scout_enabled: bool = Field(sa_column_kwargs=_OFF)
    daily_run_cap: int
    cooldown_s: int
    timezone: str = Field(sa_type=Text)
    last_run_at: datetime | None = Field(default=None, sa_column=time_column())
    pause_reason: str | None = Field(default=None, sa_type=Text)
    pause_by: str | None = Field(default=None, sa_type=Text)
    pause_until: datetime | None = Field(default=None, sa_column=time_column())
    required_capabilities: list[str] = Field(sa_column=texts_column())
    job_defaults: dict[str, Any] = Field(sa_column=json_column())
    github: str | None = Field(default=None, sa_type=Text)
    last_cycle: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=time_column(nullable=False, now=True))

    __table_args__ = (
        Index("ix_repo_github", text("lower(github)"), postgresql_where=text("github is not null")),
    )


class RepoCandidateRow(SQLModel, table=True):
    """An idea of what to work on; at most one of a repo is selected."""

    __tablename__ = "repo_candidate"

    id: UUID = Field(primary_key=True)
    repo_id: str = Field(sa_column=_repo_column())
    version: int = Field(sa_type=BigInteger, sa_column_kwargs=_ONE)
    focus: str = Field(sa_type=Text)
    score: float = Field(sa_type=Double)
    status: str = Field(sa_type=Text)
    failures: int = Field(sa_column_kwargs=_ZERO)
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))

    __table_args__ = (
        Index("ix_repo_candidate_repo", "repo_id", "id"),
        Index(
            "uq_repo_candidate_selected",
            "repo_id",
            unique=True,
            postgresql_where=text("status = 'selected'"),
        ),
    )


class RepoPullRow(SQLModel, table=True):
    """A pull request at its newest commit, and the job that verifies it."""

    __tablename__ = "repo_pull"

    repo_id: str = Field(sa_column=_repo_column(key=True))
    number: int = Field(primary_key=True)
    id: UUID = Field(sa_column_kwargs={"server_default": text("gen_random_uuid()")})
    version: int = Field(sa_type=BigInteger, sa_column_kwargs=_ONE)
    head_sha: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    attempt: int = Field(sa_column_kwargs=_ZERO)
    job_id: UUID | None = None
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))


class RepoIssueRow(SQLModel, table=True):
    """An issue to solve, and how far it is."""

    __tablename__ = "repo_issue"

    repo_id: str = Field(sa_column=_repo_column(key=True))
    number: int = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger, sa_column_kwargs=_ONE)
    title: str = Field(sa_type=Text)
    score: float = Field(sa_type=Double)
    solutions_wanted: int
    solutions_done: int = Field(sa_column_kwargs=_ZERO)
    status: str = Field(sa_type=Text)
    failures: int = Field(sa_column_kwargs=_ZERO)
    next_try_at: datetime | None = Field(default=None, sa_column=time_column())
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))


class RepoRunRow(SQLModel, table=True):
    """A run that was dispatched; at most one of a repo is under way."""

    __tablename__ = "repo_run"

    id: UUID = Field(primary_key=True)
    repo_id: str = Field(sa_column=_repo_column())
    kind: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    job_id: UUID | None = None
    candidate_id: UUID | None = None
    issue_number: int | None = None
    started_at: datetime = Field(sa_column=time_column(nullable=False))
    finished_at: datetime | None = Field(default=None, sa_column=time_column())

    __table_args__ = (
        Index("ix_repo_run_repo", "repo_id", "id"),
        Index("ix_repo_run_started", "repo_id", "started_at"),
        Index(
            "ix_repo_run_finished",
            "finished_at",
            postgresql_where=text("finished_at is not null"),
        ),
        Index(
            "uq_repo_run_running",
            "repo_id",
            unique=True,
            postgresql_where=text("status = 'running'"),
        ),
    )


class WebhookDeliveryRow(SQLModel, table=True):
    """A delivery of the forge that was taken in, so that its repeat changes nothing."""

    __tablename__ = "webhook_delivery"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    event: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_column=time_column(nullable=False, now=True))

    __table_args__ = (Index("ix_webhook_delivery_received", "received_at"),)
