"""Tokens: made, listed, revoked, and who is let in."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator import tokens
from app.coordinator.tokens import REMEMBERED_S, Doorman, Minted, mint, mint_each
from app.errors import Invalid, NotFound, Unauthenticated
from app.fleet import FactoryId, Role, TokenId
from app.runtime.ids import new_id, new_token, token_hash
from app.runtime.logs import redact
from app.store.session import Database
from tests.support.factories import OPS, database_now

SHAPED = f"fleet_{'A' * 22}_{'B' * 43}"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def make(db: Database, role: Role = Role.OPS, factory: str | None = None) -> Minted:
    async with db.transaction() as conn:
        return await mint(
            conn, role=role, factory_id=None if factory is None else FactoryId(factory)
        )


async def test_a_token_lets_its_bearer_in(db: Database) -> None:
    minted = await make(db, Role.FACTORY, "f1")
    principal = await Doorman(db).authenticate(minted.secret)
    assert principal.token_id == minted.record.id
    assert (principal.role, principal.name, principal.factory_id) == (Role.FACTORY, "f1", "f1")


async def test_a_secret_is_shown_once_and_stored_nowhere(db: Database) -> None:
    minted = await make(db)
    assert minted.secret not in repr(minted)
    assert minted.secret not in redact(f"a line with {minted.secret} in it")
    async with db.connection() as conn:
        stored = str(await conn.fetchval("select token::text from token"))
        digest = await conn.fetchval("select digest from token")
    assert minted.secret.rsplit("_", 1)[1] not in stored
    assert digest == token_hash(minted.secret)


@pytest.mark.parametrize("role", [Role.OPS, Role.CLIENT, Role.CRON])
async def test_only_a_factory_token_belongs_to_a_factory(db: Database, role: Role) -> None:
    with pytest.raises(Invalid, match="Only a token of the role factory"):
        await make(db, role, "f1")
    with pytest.raises(Invalid, match="belongs to one factory"):
        await make(db, Role.FACTORY)
    assert (await make(db, role)).record.name == role.value


async def test_a_token_ends_in_the_future_by_the_databases_clock(db: Database) -> None:
    async with db.transaction() as conn:
        now = await database_now(conn)
        with pytest.raises(Invalid, match="in the future"):
            await mint(conn, role=Role.OPS, expires_at=now - timedelta(seconds=1))
        kept = await mint(conn, role=Role.OPS, name="ci", expires_at=now + timedelta(hours=1))
    assert kept.record.expires_at == now + timedelta(hours=1)
    assert (await Doorman(db).authenticate(kept.secret)).name == "ci"
    async with db.connection() as conn:
        await conn.execute("update token set expires_at = now()")
    with pytest.raises(Unauthenticated):
        await Doorman(db).authenticate(kept.secret)


async def test_an_end_within_the_doormans_memory_is_kept_to(db: Database) -> None:
    clock = Clock()
    doorman = Doorman(db, clock=clock)
    minted = await make(db)
    async with db.connection() as conn:
        await conn.execute("update token set expires_at = clock_timestamp() + interval '1.9 s'")
        await doorman.authenticate(minted.secret)
        await conn.execute("update token set revoked_at = now()")
    clock.now_s += 0.1
    await doorman.authenticate(minted.secret)
    clock.now_s += 1.9
    with pytest.raises(Unauthenticated):
        await doorman.authenticate(minted.secret)


async def test_what_is_not_exactly_a_token_lets_nobody_in(db: Database) -> None:
    secret = (await make(db)).secret
    other = (await make(db)).secret
    doorman = Doorman(db)
    wrong_last = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    wrong_first = secret[:29] + ("A" if secret[29] != "A" else "B") + secret[30:]
    for wrong in (
        *(None, "", " ", "fleet_", SHAPED, new_token(), secret[:-1], secret + "A"),
        *(f"{secret} ", f" {secret}", f"{secret}\n", secret.upper(), secret.removeprefix("fleet_")),
        *(wrong_last, wrong_first, secret[:29] + other[29:], f"{secret},{other}", "fleet_é"),
    ):
        with pytest.raises(Unauthenticated):
            await doorman.authenticate(wrong)
    assert (await doorman.authenticate(secret)).role is Role.OPS


async def test_a_token_revoked_here_ends_at_once_elsewhere_within_seconds(db: Database) -> None:
    clock = Clock()
    here, elsewhere = Doorman(db, clock=clock), Doorman(db, clock=clock)
    minted, other = await make(db), await make(db)
    for doorman in (here, elsewhere):
        await doorman.authenticate(minted.secret)
        await doorman.authenticate(other.secret)
    revoked = await here.revoke(minted.record.id, by=OPS)
    assert revoked.revoked_at is not None
    with pytest.raises(Unauthenticated):
        await here.authenticate(minted.secret)
    await elsewhere.authenticate(minted.secret)
    clock.now_s += REMEMBERED_S
    with pytest.raises(Unauthenticated):
        await elsewhere.authenticate(minted.secret)
    await here.authenticate(other.secret)
    assert (await here.revoke(minted.record.id, by=OPS)).revoked_at == revoked.revoked_at


async def test_nothing_read_before_a_revocation_is_remembered_after_it(db: Database) -> None:
    minted = await make(db)
    doorman = Doorman(db)
    await asyncio.gather(
        doorman.revoke(minted.record.id, by=OPS),
        *(doorman.authenticate(minted.secret) for _ in range(8)),
        return_exceptions=True,
    )
    with pytest.raises(Unauthenticated):
        await doorman.authenticate(minted.secret)


async def test_known_and_refused_tokens_are_not_asked_for_again(db: Database) -> None:
    minted = await make(db)
    clock = Clock()
    doorman = Doorman(db, clock=clock)
    await doorman.authenticate(minted.secret)
    with pytest.raises(Unauthenticated):
        await doorman.authenticate(SHAPED)
    await db.close()
    await doorman.authenticate(minted.secret)
    with pytest.raises(Unauthenticated):
        await doorman.authenticate(SHAPED)


async def test_the_doormans_memory_is_bounded(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED_MAX", 2)
    doorman = Doorman(db)
    minted = [await make(db) for _ in range(3)]
    for each in minted:
        await doorman.authenticate(each.secret)
    async with db.connection() as conn:
        await conn.execute("update token set revoked_at = now()")
    with pytest.raises(Unauthenticated):
        await doorman.authenticate(minted[0].secret)
    await doorman.authenticate(minted[2].secret)


async def test_revoking_what_is_not_there_is_said(db: Database) -> None:
    with pytest.raises(NotFound):
        await Doorman(db).revoke(TokenId(new_id()), by=OPS)


async def test_tokens_are_listed_page_by_page(db: Database) -> None:
    roles = (Role.OPS, Role.CLIENT, Role.CRON)
    minted = await mint_each(db, *roles, name="first")
    first = await tokens.list_tokens(db, None, 2)
    rest = await tokens.list_tokens(db, first.next_cursor, 2)
    assert (*first.items, *rest.items) == tuple(minted[role].record for role in roles)
    assert rest.next_cursor is None
    with pytest.raises(Invalid):
        await tokens.list_tokens(db, "nonsense", 2)


@given(st.uuids())
def test_every_id_can_be_read_from_its_token(token_id: UUID) -> None:
    written = tokens._write(TokenId(token_id))  # noqa: SLF001 - the pair that must agree
    shape = tokens._SHAPE.fullmatch(written)  # noqa: SLF001 - as above
    assert shape is not None
    assert tokens._token_id(shape[1]) == token_id  # noqa: SLF001 - as above
