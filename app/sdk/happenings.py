"""What a factory loop tells its observer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from app.wire.claims import ClaimReply


class Happening(StrEnum):
    """The kinds of things that happen to a factory at work."""

    REGISTERED = "registered"
    WAITING = "waiting"
    NOTHING = "nothing"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RELEASED = "released"
    LOST = "lost"
    CANCEL_REQUESTED = "cancel_requested"
    DRAINED = "drained"
    RESUMED = "resumed"
    UNREACHABLE = "unreachable"
    REACHABLE = "reachable"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvent:
    """Something that happened: what, to which job, and more in words."""

    what: Happening
    claim: ClaimReply | None = None
    detail: str = ""


Observer: TypeAlias = Callable[[LoopEvent], None]
