"""Tokens: kept as a hash, found by their id."""

from dataclasses import dataclass
from datetime import datetime

from app.fleet import FactoryId, Role, TokenId
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A token as people read it: everything but its secret."""

    id: TokenId
    role: Role
    factory_id: FactoryId | None
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to keep; ``digest`` is the SHA-256 of all of it."""

    id: TokenId
    role: Role
    factory_id: FactoryId | None
    name: str
    digest: bytes
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundToken:
    """A token that someone may have shown; ``left_s`` is what is left of its life, if it ends."""

    record: TokenRecord
    digest: bytes
    good: bool
    left_s: float | None


async def add(conn: Connection, new: NewToken) -> TokenRecord | None:
    """Keep a new token; None if it would have expired already."""
    row = await conn.fetchrow(
        sql("token_add"),
        new.id,
        new.role.value,
        new.factory_id,
        new.name,
        new.digest,
        new.expires_at,
    )
    return None if row is None else _record(row)


async def find(conn: Connection, token_id: TokenId) -> FoundToken | None:
    """Find a token by its id, revoked and expired ones too."""
    row = await conn.fetchrow(sql("token_find"), token_id)
    if row is None:
        return None
    return FoundToken(
        record=_record(row), digest=row["digest"], good=row["good"], left_s=row["left_s"]
    )


async def page(conn: Connection, *, after: TokenId | None, limit: int) -> list[TokenRecord]:
    """List tokens, the oldest first, those after ``after``."""
    return [_record(row) for row in await conn.fetch(sql("token_page"), after, limit)]


async def revoke(conn: Connection, token_id: TokenId) -> TokenRecord | None:
    """Revoke a token; one that is revoked stays so since then. None if there is no such token."""
    row = await conn.fetchrow(sql("token_revoke"), token_id)
    return None if row is None else _record(row)


def _record(row: Record) -> TokenRecord:
    factory_id = row["factory_id"]
    return TokenRecord(
        id=TokenId(row["id"]),
        role=Role(row["role"]),
        factory_id=None if factory_id is None else FactoryId(factory_id),
        name=row["name"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
    )
