"""What is answered to a forge that delivers."""

from pydantic import Field

from app.wire.values import Reply


class HeardReply(Reply):
    """What came of a delivery."""

    outcome: str = Field(
        description="`taken`; `repeated`: it was taken before; `ignored`: it is nothing to us.",
        examples=["taken"],
        json_schema_extra={"enum": ["taken", "repeated", "ignored"]},
    )
