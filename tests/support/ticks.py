"""Ticks by hand: what goes around their work."""


async def nothing_heard() -> None:
    """Ask no forge."""
