"""Factories: settings, signs of life, seats, warm repos, accounts."""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Text,
    text,
)
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, texts_column, time_column


class FactoryRow(SQLModel, table=True):
    """A factory's settings: what it declared, and what ops decided over its head.

    ``declared_*`` is what the factory itself last said; an override by ops stands until ops change
    it. Every change here moves ``epoch`` on its seat row, so that no claim misses it.
    """

    __tablename__ = "factory"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    capabilities: list[str] = Field(sa_column=texts_column())
    engines: list[str] = Field(sa_column=texts_column())
    declared_cost_ceiling: str = Field(sa_type=Text)
    declared_seat_limit: int
    ops_cost_ceiling: str | None = Field(default=None, sa_type=Text)
    ops_seat_limit: int | None = None
    account: str | None = Field(default=None, sa_type=Text, index=True)
    labels: dict[str, str] = Field(sa_column=json_column())
    drain_reason: str | None = Field(default=None, sa_type=Text)
    drain_by: str | None = Field(default=None, sa_type=Text)
    drain_until: datetime | None = Field(default=None, sa_column=time_column())
    pause_reason: str | None = Field(default=None, sa_type=Text)
    pause_by: str | None = Field(default=None, sa_type=Text)
    pause_until: datetime | None = Field(default=None, sa_column=time_column())
    quarantined_until: datetime | None = Field(default=None, sa_column=time_column())
    quarantine_strikes: int = Field(sa_column_kwargs={"server_default": text("0")})
    quarantine_lifted_at: datetime | None = Field(default=None, sa_column=time_column())
    registered_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=time_column(nullable=False, now=True))


class FactoryPulseRow(SQLModel, table=True):
    """A factory's signs of life: what heartbeats say. Moves no version."""

    __tablename__ = "factory_pulse"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    last_seen_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    health: str = Field(sa_type=Text)
    external_load: int = Field(sa_column_kwargs={"server_default": text("0")})
    warm_repos: list[str] = Field(sa_column=texts_column())


class FactorySeatRow(SQLModel, table=True):
    """A factory's seats, counted on a row of their own (CLAIM.md, lesson 1).

    Touched by claim, finish, expiry and changes of the limit, never by heartbeats. ``epoch`` grows
    whenever drain, pause, quarantine or settings change, so that a claim decided before fails.

    No constraint says that ``used`` is not negative: PostgreSQL would check what an update makes of
    the row as it was when its statement began, and only then find that there is a newer one.
    """

    __tablename__ = "factory_seat"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    seat_limit: int
    used: int = Field(sa_column_kwargs={"server_default": text("0")})
    epoch: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    last_served_at: datetime | None = Field(default=None, sa_column=time_column())
    awaited: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    """Whether a claim waits until there is a free one: then whoever frees one says so."""


class FactoryRepoRow(SQLModel, table=True):
    """Where a factory last succeeded, per repo: its warm clones beside the declared ones."""

    __tablename__ = "factory_repo"

    factory_id: str = Field(
        sa_column=Column(ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True)
    )
    repo: str = Field(sa_column=Column(Text, primary_key=True))
    succeeded_at: datetime = Field(sa_column=time_column(nullable=False))


class AccountRow(SQLModel, table=True):
    """A provider account that several factories share, and until when its usage limit holds."""

    __tablename__ = "account"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    cooldown_until: datetime | None = Field(default=None, sa_column=time_column())
