"""What happened, appended and never changed: events of jobs, decisions of claims."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    Text,
    text,
)
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, time_column


class JobEventRow(SQLModel, table=True):
    """What happened to a job, appended; a claim is in ``decision`` and is not repeated here.

    ``outcome`` is set on the events that end a lease, with the times of that lease: they are the
    factory's record (derived health) and the receipt of a fence. ``replay`` marks the call that
    closed it (complete, fail, release), so that repeating the call can be answered.
    """

    __tablename__ = "job_event"

    id: int | None = Field(default=None, sa_column=Column(BigInteger, Identity(), primary_key=True))
    job_id: UUID = Field(index=True)
    at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    event: str = Field(sa_type=Text)
    factory_id: str | None = Field(default=None, sa_type=Text)
    fence: int | None = Field(default=None, sa_type=BigInteger)
    outcome: str | None = Field(default=None, sa_type=Text)
    claimed_at: datetime | None = Field(default=None, sa_column=time_column())
    by: str | None = Field(default=None, sa_type=Text)
    detail: dict[str, Any] = Field(sa_column=json_column())

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
    at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    factory_id: str = Field(sa_type=Text)
    job_id: UUID = Field(index=True)
    fence: int = Field(sa_type=BigInteger)
    total: int
    record: dict[str, Any] = Field(sa_column=json_column())

    __table_args__ = (
        Index("ix_decision_factory", "factory_id", "id"),
        Index("ix_decision_at", "at"),
    )
