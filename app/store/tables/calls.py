"""Who calls, and what a repeated call is answered: tokens and idempotency keys."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Column,
    DateTime,
    LargeBinary,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.store.tables.columns import json_column, time_column


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
    body: Any = Field(default=None, sa_column=json_column(nullable=True))
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
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    expires_at: datetime | None = Field(default=None, sa_column=time_column())
    revoked_at: datetime | None = Field(default=None, sa_column=time_column())
