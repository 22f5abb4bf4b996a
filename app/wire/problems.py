"""The body of every answer that is not a success (RFC 9457)."""

from pydantic import ConfigDict, Field

from app.wire.values import Reply


class FieldError(Reply):
    """What is wrong with one field of a request."""

    field: str = Field(
        description="The path of the field: in the body, else the name of the parameter.",
        examples=["payload.a[3]"],
    )
    message: str = Field(
        description="What is wrong with it.", examples=["must not contain a NUL character"]
    )


class Problem(Reply):
    """An answer that says no (``application/problem+json``); more members depend on the type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str = Field(
        description="The stable name of the problem, and the address of the page on it.",
        examples=["/problems/stale-fence"],
    )
    title: str = Field(
        description="The problem in one line, the same for every occurrence.",
        examples=["This lease is over"],
    )
    status: int = Field(description="The status code of this answer.", examples=[409])
    detail: str = Field(
        description="What happened this time, in a sentence.",
        examples=["Fence 3 of this job is closed: it was leased again as fence 4."],
    )
    errors: list[FieldError] = Field(
        default_factory=list,
        description="Each field that is not valid; given with status 422.",
        examples=[[{"field": "payload.a[3]", "message": "must not contain a NUL character"}]],
    )
