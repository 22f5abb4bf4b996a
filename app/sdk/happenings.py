"""What a factory loop tells its observer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from logging import getLogger
from typing import TypeAlias

from app.wire.claims import ClaimReply

_LOG = getLogger(__name__)


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


def careful(tell: Observer) -> Observer:
    """Tell an observer so that its faults are logged, and never end the work that it watches."""

    def told(event: LoopEvent) -> None:
        try:
            tell(event)
        except Exception:  # noqa: BLE001 - whatever it was, the work goes on
            _LOG.exception("the observer failed at %s", event.what.value)

    return told
