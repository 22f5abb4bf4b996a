"""Tokens: made, listed, revoked."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from starlette.responses import Response

from app.api.answers import OnceKey, answer, kept, of_kept
from app.api.deps import Cursor, Db, Limit, Ops, Tools
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.database import Connection
from app.coordinator.once import Answer, once
from app.coordinator.tokens import Minted, TokenRecord, list_tokens, mint
from app.errors import IdempotencyMismatch, NotFound
from app.fleet import FactoryId, TokenId
from app.wire.tokens import MintedToken, TokenPage, TokenReply, TokenRequest
from app.wire.values import PAGE_DEFAULT

router = APIRouter(tags=["tokens"], route_class=CheckedRoute)


@router.post(
    "/tokens",
    summary="Make a token",
    status_code=201,
    response_model=MintedToken,
    responses=refusals(IdempotencyMismatch),
)
async def token_make(body: TokenRequest, _by: Ops, key: OnceKey, db: Db) -> Response:
    """Make a token. It is shown in this answer and never again; only its hash is kept."""

    async def act(conn: Connection) -> Answer:
        minted = await mint(
            conn,
            role=body.role,
            factory_id=None if body.factory_id is None else FactoryId(body.factory_id),
            name=body.name,
            expires_at=body.expires_at,
        )
        return _minted(minted)

    response = of_kept(await once(db, key, act))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/tokens", summary="List tokens", response_model=TokenPage)
async def tokens_page(
    _by: Ops, db: Db, cursor: Cursor = None, limit: Limit = PAGE_DEFAULT
) -> Response:
    """List all tokens, oldest first, the revoked and expired ones too; without their secrets."""
    page = await list_tokens(db, cursor, limit)
    items = [_shown(each) for each in page.items]
    return answer(TokenPage(items=items, next_cursor=page.next_cursor))


@router.delete(
    "/tokens/{token_id}",
    summary="Revoke a token",
    status_code=204,
    responses=refusals(NotFound),
)
async def token_revoke(
    token_id: Annotated[UUID, Path(description="The token's id.")], by: Ops, tools: Tools
) -> Response:
    """End a token: at once in this process, within two seconds in the others."""
    await tools.doorman.revoke(TokenId(token_id), by=by)
    return Response(status_code=204)


def _minted(minted: Minted) -> Answer:
    shown = dict(_shown(minted.record))
    answered = kept(MintedToken(**shown, token=minted.secret), status=201, headers={})
    without = MintedToken(**shown, token=None)
    return replace(answered, kept_body=without.model_dump(mode="json"))


def _shown(record: TokenRecord) -> TokenReply:
    return TokenReply(
        id=record.id,
        role=record.role,
        factory_id=record.factory_id,
        name=record.name,
        created_at=record.created_at,
        expires_at=record.expires_at,
        revoked_at=record.revoked_at,
    )
