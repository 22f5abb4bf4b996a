"""Tokens: make, list, revoke; for ops."""

from collections.abc import AsyncIterator
from uuid import UUID

from app.sdk.transport import Call, Transport, key_header, new_key
from app.wire.tokens import MintedToken, TokenPage, TokenReply, TokenRequest


class Tokens:
    """The calls under ``/tokens``."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def create(self, wanted: TokenRequest) -> MintedToken:
        """Make a token; its secret is in this answer and nowhere else.

        A lost answer is not asked for again, since a repeat would come without the secret.
        """
        call = Call(method="POST", path="/tokens", body=wanted, headers=key_header(new_key()))
        return await self._transport.reply(call, MintedToken)

    async def page(self, *, cursor: str | None = None, limit: int | None = None) -> TokenPage:
        """Read one page of tokens."""
        params = {"cursor": cursor, "limit": limit}
        call = Call(method="GET", path="/tokens", params=params, repeatable=True)
        return await self._transport.reply(call, TokenPage)

    async def each(self) -> AsyncIterator[TokenReply]:
        """Read all tokens, page by page."""
        cursor = None
        while True:
            page = await self.page(cursor=cursor)
            for token in page.items:
                yield token
            cursor = page.next_cursor
            if cursor is None:
                return

    async def revoke(self, token_id: UUID) -> None:
        """End a token; repeating it changes nothing."""
        await self._transport.send(Call(method="DELETE", path=f"/tokens/{token_id}"))
