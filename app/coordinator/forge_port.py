"""The forge, as a tick needs it: one question about a pull request.

Without a forge nothing is asked: merges and verdicts are then what people say by API.
"""

from typing import Protocol

from app.pull import PullNews


class Forge(Protocol):
    """Somewhere pull requests live; asked outside of transactions, for it may take its time."""

    async def look(self, pr_url: str) -> PullNews | None:
        """Read a pull request; None if the address is none of this forge's."""
