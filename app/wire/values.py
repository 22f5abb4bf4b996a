"""The types that fields of requests and replies are made of, with their bounds.

Requests are strict: a field that is not known is refused, ``"1"`` is not a number and ``true`` is
not one either. Replies are lenient to their reader: a client ignores what it does not know, so the
server may add members. Every bound is generous for people and far below what a row can hold.
"""

import re
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
)

from app.instants import YEARS, taken
from app.life import COOLDOWN_S_MAX, LEASE_S_MAX, LEASE_S_MIN, RETRY_AFTER_S_MAX

TEXT_MAX = 4096
ERROR_MAX = 65_536
WORD_MAX = 128
NAME_MAX = 512
LIST_MAX = 64
LABELS_MAX = 64
DEPENDS_MAX = 1000
BATCH_MAX = 1000
CLAIMS_MAX = 100
WAIT_MAX_S = 60
LEASE_MIN_S = LEASE_S_MIN
LEASE_MAX_S = LEASE_S_MAX
TIMEOUT_MAX_S = 30 * 86_400
ATTEMPTS_MAX = 100_000
RETRY_AFTER_MAX_S = RETRY_AFTER_S_MAX
COOLDOWN_MAX_S = COOLDOWN_S_MAX
SEATS_MAX = 1000
LOAD_MAX = 10_000
INTEGER_MAX = 2**63 - 1
PAGE_MAX = 500
PAGE_DEFAULT = 100

_DATE_FIRST = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")
_NO_CONTROL = r"^[^\x00-\x1f\x7f]+$"
_ID = r"^[^/\x00-\x20\x7f]([^/\x00-\x1f\x7f]*[^/\x00-\x20\x7f])?$"
OWNER_AND_NAME = r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$"

SPELLINGS = {
    _NO_CONTROL: "must be one line, without control characters",
    _ID: "must have no slash and no control character, and no space at either end",
    OWNER_AND_NAME: "must be owner/name",
}
"""What each pattern asks for, in words."""


class Request(BaseModel):
    """What a caller sends: frozen, and with no field that the coordinator does not know."""

    # What is no number is sent as that, to be refused, and not silently as null.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")


class Reply(BaseModel):
    """What the coordinator answers: frozen; a reader ignores what it does not know."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _not_dots(value: str) -> str:
    if value in {".", ".."}:
        message = "must not be '.' or '..', which do not survive in an address"
        raise ValueError(message)
    return value


def _time_as_text(value: object) -> object:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DATE_FIRST.match(value):
        return value
    message = "must be a time in RFC 3339, such as 2026-03-01T09:30:00Z"
    raise ValueError(message)


def _as_taken(value: datetime) -> datetime:
    instant = taken(value)
    if instant is None:
        message = f"must lie between the years {YEARS[0]} and {YEARS[-1]}, in UTC"
        raise ValueError(message)
    return instant


def _not_null(value: object) -> object:
    if value is None:
        message = "must not be null; leave the field out to keep what is there"
        raise ValueError(message)
    return value


Integer: TypeAlias = Annotated[int, Strict()]
Flag: TypeAlias = Annotated[bool, Strict()]
Timestamp: TypeAlias = Annotated[
    AwareDatetime, BeforeValidator(_time_as_text), AfterValidator(_as_taken)
]
"""A time that a caller names, in UTC once it is taken."""
Moment: TypeAlias = AwareDatetime
"""A time that is told: whatever is stored is shown."""
Word: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=WORD_MAX, pattern=_NO_CONTROL)
]
"""A capability, an engine, a kind, a label's name: one line of at most 128 characters."""
Name: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=NAME_MAX, pattern=_NO_CONTROL)
]
"""A repository, a lock, a dedupe key: one line of at most 512 characters, slashes welcome."""
PersonalId: TypeAlias = Annotated[
    str,
    StringConstraints(min_length=1, max_length=WORD_MAX, pattern=_ID),
    AfterValidator(_not_dots),
]
"""An id given by people: no slash, no control character, no space at either end."""
Text: TypeAlias = Annotated[str, StringConstraints(max_length=TEXT_MAX)]
Sentence: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=TEXT_MAX)]
Labels: TypeAlias = Annotated[
    dict[Word, Annotated[str, StringConstraints(max_length=NAME_MAX)]],
    Field(max_length=LABELS_MAX),
]
Words: TypeAlias = Annotated[list[Word], Field(max_length=LIST_MAX)]
Names: TypeAlias = Annotated[list[Name], Field(max_length=LIST_MAX)]
Fence: TypeAlias = Annotated[Integer, Field(ge=0, le=INTEGER_MAX)]
LeaseSeconds: TypeAlias = Annotated[Integer, Field(ge=LEASE_MIN_S, le=LEASE_MAX_S)]
RetryAfter: TypeAlias = Annotated[Integer, Field(ge=0, le=RETRY_AFTER_MAX_S)]
ClaimNext: TypeAlias = Annotated[Integer, Field(ge=0, le=CLAIMS_MAX)]

T = TypeVar("T")
Omissible: TypeAlias = Annotated[T | None, BeforeValidator(_not_null)]
"""A field of a PATCH that may be left out, but not be null."""


def never_null(schema: dict[str, Any]) -> None:
    """Show an omissible field as what it takes, without the None that says "not given"."""
    schema.pop("default", None)
    (taken,) = (each for each in schema.pop("anyOf") if each.get("type") != "null")
    schema.update(taken)


class StandingRequest(Request):
    """The reason for a drain, a pause or a hold, and until when it stands."""

    reason: Sentence = Field(
        description="Why, in words that the next person understands.",
        examples=["disk is being replaced"],
    )
    until: Timestamp | None = Field(
        default=None,
        description="When it ends by itself; without it, it stands until it is lifted.",
        examples=["2026-03-01T18:00:00Z"],
    )


class StandingReply(Reply):
    """A drain, a pause or a hold that was ordered, and by whom."""

    reason: str = Field(description="Why.", examples=["disk is being replaced"])
    by: str = Field(description="The name of the token that ordered it.", examples=["ops"])
    until: Moment | None = Field(
        default=None,
        description="When it ends by itself, or null if somebody has to lift it.",
        examples=["2026-03-01T18:00:00Z"],
    )
