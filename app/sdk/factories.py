"""Factories: register, show signs of life, and what ops decide about them."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from app.sdk.transport import Call, Transport
from app.wire.factories import FactoryPage, FactoryPut, FactoryReply, Heartbeat, HeartbeatReply
from app.wire.values import StandingRequest


class Factories:
    """The calls under ``/factories``."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def put(self, factory_id: str, settings: FactoryPut) -> FactoryReply:
        """Register a factory, or say anew what it is."""
        call = Call(method="PUT", path=_path(factory_id), body=settings, repeatable=True)
        return await self._transport.reply(call, FactoryReply)

    async def heartbeat(self, factory_id: str, beat: Heartbeat) -> HeartbeatReply:
        """Show a sign of life and renew all leases; learn which are lost or to be cancelled."""
        call = Call(method="POST", path=_path(factory_id, "/heartbeat"), body=beat, repeatable=True)
        return await self._transport.reply(call, HeartbeatReply)

    async def get(self, factory_id: str) -> FactoryReply:
        """Read a factory."""
        call = Call(method="GET", path=_path(factory_id), repeatable=True)
        return await self._transport.reply(call, FactoryReply)

    async def page(self, *, cursor: str | None = None, limit: int | None = None) -> FactoryPage:
        """Read one page of factories, by id."""
        params = {"cursor": cursor, "limit": limit}
        call = Call(method="GET", path="/factories", params=params, repeatable=True)
        return await self._transport.reply(call, FactoryPage)

    async def each(self) -> AsyncIterator[FactoryReply]:
        """Read all factories, page by page."""
        cursor = None
        while True:
            page = await self.page(cursor=cursor)
            for factory in page.items:
                yield factory
            cursor = page.next_cursor
            if cursor is None:
                return

    async def drain(self, factory_id: str, standing: StandingRequest) -> FactoryReply:
        """Let it finish what it holds, and give it nothing new."""
        return await self._stand(factory_id, "/drain", standing)

    async def pause(self, factory_id: str, standing: StandingRequest) -> FactoryReply:
        """Give it nothing new."""
        return await self._stand(factory_id, "/pause", standing)

    async def resume(self, factory_id: str) -> FactoryReply:
        """Lift its drain, its pause and its quarantine."""
        return await self._stand(factory_id, "/resume", None)

    async def delete(self, factory_id: str) -> None:
        """Forget a factory that holds no lease."""
        await self._transport.send(Call(method="DELETE", path=_path(factory_id)))

    async def _stand(
        self, factory_id: str, verb: str, standing: StandingRequest | None
    ) -> FactoryReply:
        path = _path(factory_id, verb)
        call = Call(method="POST", path=path, body=standing, repeatable=True)
        return await self._transport.reply(call, FactoryReply)


def _path(factory_id: str, rest: str = "") -> str:
    return f"/factories/{quote(factory_id, safe='')}{rest}"
