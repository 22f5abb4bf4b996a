"""Durations as people write them: ``4h``, ``1h30m``, ``90s``, or plain seconds."""

import re
from datetime import datetime, timedelta
from typing import Final

_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART: Final = r"\d+(?:\.\d+)?"
_SHAPE: Final = re.compile(
    rf"(?:(?P<d>{_PART})d)?(?:(?P<h>{_PART})h)?(?:(?P<m>{_PART})m)?(?:(?P<s>{_PART})s?)?"
)


def duration_s(text: str) -> int:
    """Turn ``4h``, ``1h30m``, ``1.5h`` or ``90`` into whole seconds.

    Raises:
        ValueError: if it is not a duration; the message says what one looks like.
    """
    found = _SHAPE.fullmatch(re.sub(r"\s+", "", text.lower()))
    parts = {unit: part for unit, part in found.groupdict().items() if part} if found else {}
    if not parts:
        message = f"{text!r} is not a duration: write 4h, 1h30m, 90s, or seconds"
        raise ValueError(message)
    return round(sum(float(part) * _SECONDS[unit] for unit, part in parts.items()))


def short(length: timedelta) -> str:
    """Write a length in its two largest units: ``3d 4h``, ``12m 5s``, ``0s``."""
    left = max(0, round(length.total_seconds()))
    words = []
    for unit, size in _SECONDS.items():
        count, left = divmod(left, size)
        if count:
            words.append(f"{count}{unit}")
    return " ".join(words[:2]) or "0s"


def ago(moment: datetime | None, now: datetime) -> str:
    """Write how long ago, or in how long: ``5m ago``, ``in 2h``; a dash for never."""
    if moment is None:
        return "-"
    if moment > now:
        return f"in {short(moment - now)}"
    return f"{short(now - moment)} ago"
