"""Once: a creating call that is repeated under its idempotency key acts only the first time.

Key, act and answer are one transaction. So a call that failed has left nothing, and repeating it
acts; one that succeeded has left its answer, however it was lost on the way. Of twins that arrive
together one acts, and the others wait at the key's row for its end. That wait is bounded by the
connection's statement timeout and is then answered as our overload, never as a second act.

Keys belong to a scope (who called what), live for 24 hours, and belong to one request: the same key
with another body, or for another place, is refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.errors import IdempotencyMismatch, LostRace
from app.fleet import Json
from app.store import idempotency
from app.store.retrying import settled
from app.store.session import Connection, Database

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An idempotency key: ``scope`` says whose and for what; ``fingerprint`` is the request's."""

    scope: str
    key: str
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a creating call answers.

    ``kept_body`` is what a repeat gets instead of ``body``, for an answer with a secret in it:
    that is shown once and never stored. ``replayed`` marks the answer of a repeat.
    """

    status: int
    body: Json = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    kept_body: Json = field(default=None, repr=False)
    replayed: bool = False


async def once(
    db: Database, key: Key | None, act: Callable[[Connection], Awaitable[Answer]]
) -> Answer:
    """Act in a transaction, or give the answer of the call that did under the same key.

    If something moved under the act, the transaction begins again.

    Raises:
        IdempotencyMismatch: the key belongs to another request.
        LostRace: the key was forgotten and taken again faster than this call could follow; or
            something moved under the act every time.
    """
    if key is None:
        return await settled(db, act)
    for _ in range(_TRIES):
        answer = await settled(db, lambda conn: _act_or_replay(conn, key, act))
        if answer is not None:
            return answer
    detail = "This idempotency key expired and was used again just now."
    raise LostRace(detail)


async def _act_or_replay(
    conn: Connection, key: Key, act: Callable[[Connection], Awaitable[Answer]]
) -> Answer | None:
    if await idempotency.begin(conn, key.scope, key.key, key.fingerprint):
        answer = await act(conn)
        body = answer.body if answer.kept_body is None else answer.kept_body
        kept: Json = {"body": body, "headers": dict(answer.headers)}
        await idempotency.keep(conn, key.scope, key.key, status=answer.status, body=kept)
        return answer
    found = await idempotency.read(conn, key.scope, key.key)
    return None if found is None else _replay(found, key)


def _replay(found: idempotency.Kept, key: Key) -> Answer:
    if found.fingerprint != key.fingerprint:
        detail = "This Idempotency-Key was used for another request; use a new one for this."
        raise IdempotencyMismatch(detail)
    assert isinstance(found.body, dict)  # noqa: S101 - as it was kept above
    headers = found.body["headers"]
    assert isinstance(headers, dict)  # noqa: S101 - as it was kept above
    return Answer(
        status=found.status,
        body=found.body["body"],
        headers={name: str(value) for name, value in headers.items()},
        replayed=True,
    )
