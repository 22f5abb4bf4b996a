"""Slots and clones: may one more agent start, and on this clone?

Three rules keep agents out of each other's way, and each leans on the others. **Do not relax one
without revisiting the other two:**

- *per clone*: at most one agent works in a clone (here);
- *global*: at most ``max_agents`` work at all (here);
- *one development at a time*: of the development workflows of a clone only the first one moves,
  even while it waits for a reviewer and no agent runs (the heads of :mod:`app.planner`).

Without the third, a second branch is begun in a clone while the first is under review; without the
first, two agents fight over one working tree; without the second, one tick empties the whole
backlog into the queue. None of the checks is atomic either: they hold because ticks are serialised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.workflow import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Which clones are busy, and how many agents may be.

    ``busy_clones`` has one entry per processing workflow of *any* status, so a running merged or
    UAT run counts; duplicates are kept, because its length is the number of active agents. It is
    copied: what becomes of the caller's list afterwards does not matter.
    """

    busy_clones: Sequence[str]
    max_agents: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "busy_clones", tuple(self.busy_clones))

    @property
    def active_count(self) -> int:
        """How many agents are at work."""
        return len(self.busy_clones)

    @property
    def free_slots(self) -> int:
        """How many more may start, clones aside; never negative, though the limit may shrink."""
        return max(0, self.max_agents - self.active_count)

    def refusal(self, clone: str) -> Reason | None:
        """Why no agent may start on ``clone`` now, or None if one may."""
        if clone in self.busy_clones:
            return Reason.CLONE_BUSY
        if self.free_slots == 0:
            return Reason.NO_SLOT
        return None

    def can_start(self, clone: str) -> bool:
        """Whether an agent may start on ``clone`` now."""
        return self.refusal(clone) is None

    def started(self, clone: str) -> "Capacity":
        """Return what is left once an agent has started on ``clone``."""
        return replace(self, busy_clones=(*self.busy_clones, clone))
