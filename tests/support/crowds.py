"""A crowd of factories at the port: registered in one go, calling all at the same instant."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.coordinator.tokens import mint
from app.fleet import FactoryId, Role
from app.store.session import Database, Limits
from tests.support.api import Fleet
from tests.support.raw import Answer, Line, lines, request


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Factories by name: the token and the line of each."""

    tokens: dict[str, str]
    lines: dict[str, Line]

    async def claim(self, name: str, **fields: Any) -> Answer:  # noqa: ANN401 - any field
        """Claim for one of them."""
        return await self.ask(name, "/claim", {"factory_id": name, **fields})

    async def claims(self, **fields: Any) -> dict[str, Answer]:  # noqa: ANN401 - any field
        """Claim for all of them at once."""
        answers = await asyncio.gather(*(self.claim(name, **fields) for name in self.tokens))
        return dict(zip(self.tokens, answers, strict=True))

    async def ask(
        self, name: str, path: str, body: object, *, method: str = "POST", key: str | None = None
    ) -> Answer:
        """Call as one of them."""
        token = self.tokens[name]
        return await self.lines[name].ask(request(path, token, body, method=method, key=key))


@asynccontextmanager
async def crowd_at(fleet: Fleet, count: int, **settings: Any) -> AsyncIterator[Crowd]:  # noqa: ANN401
    """Register factories ``f0`` to ``f<count - 1>`` that offer the same, each with a line."""
    db = await Database.open(fleet.database_url, Limits(size=1))
    tokens = {}
    async with db.transaction() as conn:
        for number in range(count):
            name = FactoryId(f"f{number}")
            tokens[str(name)] = (await mint(conn, role=Role.FACTORY, factory_id=name)).secret
    await db.close()
    async with lines(fleet.url, count) as opened:
        crowd = Crowd(tokens=tokens, lines=dict(zip(tokens, opened, strict=True)))
        made = await asyncio.gather(
            *(crowd.ask(name, f"/factories/{name}", settings, method="PUT") for name in tokens)
        )
        assert {each.status for each in made} == {201}
        yield crowd
