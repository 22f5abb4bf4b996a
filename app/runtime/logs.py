"""Logs: one line per event, plain for people or JSON for machines, never with a secret in it.

Tokens are masked in the finished line, after arguments, exceptions and stacks were put in, so that
there is no path around the mask.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import orjson

from app.masking import mask

_OWN_HANDLER: Final = "fleet"

# Attributes of every record; whatever else a record carries was given as `extra`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def redact(text: str) -> str:
    """Mask what looks like a secret: see :mod:`app.masking`."""
    return mask(text)


class PlainFormatter(logging.Formatter):
    """A line for people: time, level, logger, message, and `extra` as key=value."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s  %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the base class named it
        """Write the time as RFC 3339 in UTC, to the millisecond."""
        del datefmt
        return _stamp(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class named it
        """Write the line itself; a traceback follows on lines of its own."""
        pairs = "".join(f" {key}={value}" for key, value in _extra(record).items())
        return super().formatMessage(record) + pairs

    def format(self, record: logging.LogRecord) -> str:
        """Write the whole entry, secrets masked."""
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """One JSON object per line: `time level logger message`, then `extra`, then `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the whole entry, secrets masked."""
        entry: dict[str, Any] = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            entry["stack"] = record.stack_info
        options = orjson.OPT_NON_STR_KEYS
        return redact(orjson.dumps(entry, default=str, option=options).decode())


def set_up_logs(*, level: str, as_json: bool, stream: TextIO | None = None) -> None:
    """Send all logs of the process to one stream; may be called again, the last call holds.

    Args:
        level: the least level that is written, such as ``info``; any case.
        as_json: JSON lines instead of plain ones.
        stream: where to write; standard error if not given, so that standard output stays clean.

    Raises:
        ValueError: if there is no such level.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.set_name(_OWN_HANDLER)
    handler.setFormatter(JsonFormatter() if as_json else PlainFormatter())
    root = logging.getLogger()
    for old in [each for each in root.handlers if each.get_name() == _OWN_HANDLER]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)


def _stamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}
