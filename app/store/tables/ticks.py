"""Reports of the ticks, and whose turn it is."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Text,
    text,
)
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, time_column


class TickRow(SQLModel, table=True):
    """The report of a tick, for ``GET /ticks`` and for windows already served.

    ``reasons`` says of each workflow or repo, by id, why nothing of it was started.
    """

    __tablename__ = "tick"

    id: UUID = Field(primary_key=True)
    kind: str = Field(sa_type=Text)
    window: str | None = Field(default=None, sa_type=Text)
    at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    report: dict[str, Any] = Field(sa_column=json_column())
    reasons: dict[str, Any] = Field(sa_column=json_column())

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


class TickEpochRow(SQLModel, table=True):
    """Whose turn it is: each tick takes the next number, and only its holder may start anything.

    One row, ``turn``; made by the migration.
    """

    __tablename__ = "tick_epoch"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    epoch: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("0")})
