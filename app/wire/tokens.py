"""Tokens: who may call, and as what."""

from uuid import UUID

from pydantic import Field

from app.fleet import Role
from app.wire.values import Moment, PersonalId, Reply, Request, Timestamp, Word

_ID_EXAMPLE = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"


class TokenRequest(Request):
    """A token to be made (``POST /tokens``)."""

    role: Role = Field(description="What its bearer may do.", examples=["factory"])
    factory_id: PersonalId | None = Field(
        default=None,
        description="The factory it is bound to; required for the role `factory`, and only "
        "there. The factory need not be registered yet.",
        examples=["f1"],
    )
    name: Word | None = Field(
        default=None,
        description="What `by` shows of those who use it; by default its role or factory.",
        examples=["ci"],
    )
    expires_at: Timestamp | None = Field(
        default=None,
        description="When it stops working; without it, when it is revoked.",
        examples=["2027-01-01T00:00:00Z"],
    )


class TokenReply(Reply):
    """What is known of a token; its secret is not."""

    id: UUID = Field(description="Its id.", examples=[_ID_EXAMPLE])
    role: Role = Field(description="What its bearer may do.", examples=["factory"])
    factory_id: str | None = Field(
        default=None, description="The factory it is bound to.", examples=["f1"]
    )
    name: str = Field(description="What `by` shows.", examples=["ci"])
    created_at: Moment = Field(description="When it was made.", examples=["2026-03-01T09:00:00Z"])
    expires_at: Moment | None = Field(
        default=None, description="When it stops working.", examples=["2027-01-01T00:00:00Z"]
    )
    revoked_at: Moment | None = Field(
        default=None, description="When it was revoked, if it was.", examples=[None]
    )


class MintedToken(TokenReply):
    """A token that was just made."""

    token: str | None = Field(
        description="The token itself, shown once: null when the call is repeated under its "
        "`Idempotency-Key`, since only a hash of it is kept.",
        examples=["fleet_01980a3c_…"],
    )


class TokenPage(Reply):
    """One page of tokens."""

    items: list[TokenReply] = Field(description="The tokens of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )
