"""Tokens: made, listed, revoked, and checked at every call.

A token reads ``fleet_<id>_<secret>``: 22 characters that name its row and 43 of chance, all of
base64url. The id finds the row; the SHA-256 of the *whole* token, compared in constant time, is
what opens. Nothing but that hash is stored, so a token is shown once.

The doorman remembers an answer for at most two seconds. That is how long a token that was revoked
through another process may still be let in by this one; revoked through this one, it ends at once.
The memory is bounded and keyed by the hash, so no token stays in it in clear.
"""

import base64
import hmac
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from logging import getLogger
from typing import Generic, TypeVar
from uuid import UUID

from app.coordinator.paging import Page, page_of, place
from app.errors import Invalid, NotFound, Unauthenticated
from app.fleet import FactoryId, Json, Principal, Role, TokenId
from app.runtime.clock import monotonic_s
from app.runtime.ids import TOKEN_PREFIX, new_id, new_token, token_hash
from app.store import tokens
from app.store.session import Connection, Database
from app.store.tokens import FoundToken, NewToken, TokenRecord

__all__ = ["Doorman", "Minted", "TokenRecord", "list_tokens", "mint", "mint_each"]

REMEMBERED_S = 2.0
"""How long the doorman goes by an answer before he asks again."""

REMEMBERED_MAX = 4096
"""How many tokens the doorman remembers, and as many that he refused."""

_LOG = getLogger(__name__)
_SHAPE = re.compile(rf"{TOKEN_PREFIX}([A-Za-z0-9_-]{{22}})_[A-Za-z0-9_-]{{43}}")
_NO_DIGEST = bytes(32)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted:
    """A token that was just made; ``secret`` is the token itself, and this the only time."""

    record: TokenRecord
    secret: str = field(repr=False)


async def mint(
    conn: Connection,
    *,
    role: Role,
    factory_id: FactoryId | None = None,
    name: str | None = None,
    expires_at: datetime | None = None,
) -> Minted:
    """Make a token; its name is its factory's or its role's unless it is given one.

    Raises:
        Invalid: a factory's token without a factory, another's with one, or an end that is past.
    """
    if role is Role.FACTORY and factory_id is None:
        raise _invalid(
            name="factory_id", detail="A token of the role factory belongs to one factory."
        )
    if role is not Role.FACTORY and factory_id is not None:
        raise _invalid(
            name="factory_id", detail="Only a token of the role factory belongs to a factory."
        )
    token_id = TokenId(new_id())
    secret = _write(token_id)
    record = await tokens.add(
        conn,
        NewToken(
            id=token_id,
            role=role,
            factory_id=factory_id,
            name=name or factory_id or role.value,
            digest=token_hash(secret),
            expires_at=expires_at,
        ),
    )
    if record is None:
        raise _invalid(name="expires_at", detail="A token must expire in the future.")
    return Minted(record=record, secret=secret)


async def mint_each(db: Database, *roles: Role, name: str | None = None) -> dict[Role, Minted]:
    """Make a token per role, all or none: for whoever has the database and no token yet."""
    async with db.transaction() as conn:
        return {role: await mint(conn, role=role, name=name) for role in roles}


async def list_tokens(db: Database, cursor: str | None, limit: int) -> Page[TokenRecord]:
    """List tokens, the oldest first, revoked and expired ones too."""
    after = place(cursor, _read_id)
    async with db.connection() as conn:
        found = await tokens.page(conn, after=after, limit=limit + 1)
    return page_of(found, limit, lambda record: str(record.id))


class Doorman:
    """Tells who shows a token, asking the database as rarely as its promise allows."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = monotonic_s) -> None:
        """Remember nobody yet."""
        self._db = db
        self._clock = clock
        self._known: _Memory[Principal] = _Memory(REMEMBERED_MAX)
        self._refused: _Memory[None] = _Memory(REMEMBERED_MAX)
        self._revocations = 0

    def recall(self, token: str) -> Principal | None:
        """Tell who shows this token if that was found out just now; None means: ask.

        What is remembered was shown in full before, and is found by the hash of all of it.
        """
        known = self._known.recall(token_hash(token), self._clock())
        return None if known is None else known[0]

    async def authenticate(self, token: str | None) -> Principal:
        """Tell who shows this token.

        Raises:
            Unauthenticated: it is none of ours, or expired, or revoked; which, is not said.
            Unavailable: the database cannot be asked.
        """
        shape = _SHAPE.fullmatch(token or "")
        if token is None or shape is None:
            raise _unauthenticated()
        digest = token_hash(token)
        now_s = self._clock()
        known = self._known.recall(digest, now_s)
        if known is not None:
            return known[0]
        if self._refused.recall(digest, now_s) is not None:
            raise _unauthenticated()
        return await self._ask(_token_id(shape[1]), digest)

    async def revoke(self, token_id: TokenId, *, by: Principal) -> TokenRecord:
        """Revoke a token; in this process it opens nothing from here on.

        Raises:
            NotFound: there is no such token.
        """
        async with self._db.transaction() as conn:
            record = await tokens.revoke(conn, token_id)
        if record is None:
            detail = f"There is no token {token_id}."
            raise NotFound(detail)
        # Whoever is being looked up right now may have been read before; he is not remembered.
        self._revocations += 1
        self._known.forget(lambda principal: principal.token_id == token_id)
        _LOG.info("token revoked", extra={"token_id": str(token_id), "by": by.name})
        return record

    async def _ask(self, token_id: TokenId, digest: bytes) -> Principal:
        revocations = self._revocations
        asked_s = self._clock()
        async with self._db.connection() as conn:
            found = await tokens.find(conn, token_id)
        # Unknown ids are compared too, so that the time taken does not tell which ids exist.
        matches = hmac.compare_digest(digest, _NO_DIGEST if found is None else found.digest)
        if found is None or not (matches and found.good):
            self._refused.keep(digest, None, until_s=asked_s + REMEMBERED_S)
            raise _unauthenticated()
        principal = _principal(found)
        if revocations == self._revocations:
            left_s = REMEMBERED_S if found.left_s is None else min(REMEMBERED_S, found.left_s)
            self._known.keep(digest, principal, until_s=asked_s + left_s)
        return principal


class _Memory(Generic[_T]):
    """A bounded memory of answers; the one longest not asked for goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, tuple[_T, float]] = OrderedDict()

    def recall(self, digest: bytes, now_s: float) -> tuple[_T] | None:
        kept = self._kept.get(digest)
        if kept is None:
            return None
        answer, until_s = kept
        if now_s >= until_s:
            del self._kept[digest]
            return None
        self._kept.move_to_end(digest)
        return (answer,)

    def keep(self, digest: bytes, answer: _T, *, until_s: float) -> None:
        self._kept[digest] = (answer, until_s)
        self._kept.move_to_end(digest)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, which: Callable[[_T], bool]) -> None:
        for digest in [digest for digest, (answer, _) in self._kept.items() if which(answer)]:
            del self._kept[digest]


def _write(token_id: TokenId) -> str:
    name = base64.urlsafe_b64encode(token_id.bytes).decode().rstrip("=")
    return f"{TOKEN_PREFIX}{name}_{new_token().removeprefix(TOKEN_PREFIX)}"


def _token_id(name: str) -> TokenId:
    return TokenId(UUID(bytes=base64.urlsafe_b64decode(name + "==")))


def _principal(found: FoundToken) -> Principal:
    record = found.record
    return Principal(
        token_id=record.id, role=record.role, name=record.name, factory_id=record.factory_id
    )


def _read_id(where: Json) -> TokenId:
    return TokenId(UUID(str(where)))


def _invalid(*, name: str, detail: str) -> Invalid:
    return Invalid(detail, errors=[{"field": name, "message": detail}])


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated("The token is missing, unknown, expired or revoked.")
