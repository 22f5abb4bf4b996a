"""A job as a Markdown file: a header of settings, then the prompt.

The header is YAML front matter::

    ---
    engine: devin
    cwd: ~/code/shop
    yolo: true
    lock: shop-scheduler
    timeout: 4h
    ---
    ROLE: Senior backend engineer. …

or the same as a table, which is what a web page makes of it when the file is copied from there:
a line of tab-separated names and a line of values, with at most a title line above.

``cwd`` and ``yolo`` are for whoever runs the job and go to its payload; ``yolo: true`` is also a
capability that the factory must offer. A name nobody knows is refused: a misspelt ``lock`` would
otherwise be two agents in one clone.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final, NamedTuple

import yaml
from frontmatter.default_handlers import YAMLHandler

from app.cli.durations import duration_s
from app.fleet import Json, JsonObject

DEFAULT_KIND: Final = "agent"
"""The kind of a job file that names none."""

YOLO: Final = "yolo"

_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0", ""})


class JobFileError(ValueError):
    """The file is not a job; the message says why in one sentence."""


class _Document(NamedTuple):
    header: Mapping[str, object]
    body: str
    title: str | None


def parse_job_file(text: str) -> JsonObject:
    """Read a job from the text of a Markdown file, in the shape of ``POST /jobs``.

    Raises:
        JobFileError: an unknown or doubled name, a value of the wrong kind, or no prompt.
    """
    document = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    job = _fields(document.header)
    payload = _payload(job)
    if document.body:
        payload["prompt"] = document.body
    elif "prompt" not in payload:
        message = "the file has no text below its header: the prompt is missing"
        raise JobFileError(message)
    if document.title is not None:
        payload.setdefault("title", document.title)
    job.setdefault("kind", DEFAULT_KIND)
    return job


def require_yolo(job: JsonObject) -> None:
    """Make ``yolo`` a capability the job needs, once."""
    needed = job.setdefault("required_capabilities", [])
    if isinstance(needed, list) and YOLO not in needed:
        needed.append(YOLO)


def _split(text: str) -> _Document:
    table = _table(text)
    if table is not None:
        return table
    if not text.startswith("---"):
        return _Document(header={}, body=text.strip(), title=None)
    reader = YAMLHandler()
    try:
        head, body = reader.split(text)
        header = reader.load(head)
        texts = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506 - it makes texts, nothing else
    except yaml.YAMLError as error:
        message = f"the header is not YAML: {' '.join(str(error).split())}"
        raise JobFileError(message) from None
    except ValueError:
        message = "the header does not end: a second line of --- is missing"
        raise JobFileError(message) from None
    if not isinstance(header or {}, dict):
        message = "the header is not a list of `name: value` lines"
        raise JobFileError(message)
    said = {
        name: value if name in _TYPED or value is None else texts.get(name, value)
        for name, value in (header or {}).items()
    }
    return _Document(header=said, body=body.strip(), title=None)


def _table(text: str) -> _Document | None:
    """Read the header as a table of one row, or find that it is none."""
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()][:3]
    for position, number in enumerate(filled[:2]):
        names = [cell.strip() for cell in lines[number].split("\t")]
        if len(names) > 1 and all(name in _READERS for name in names):
            values = lines[number + 1].split("\t") if number + 1 < len(lines) else []
            if len(values) != len(names):
                message = f"the header has {len(names)} names and {len(values)} values"
                raise JobFileError(message)
            title = lines[filled[0]].strip() if position else None
            header = dict(zip(names, (cell.strip() for cell in values), strict=True))
            return _Document(header, "\n".join(lines[number + 2 :]).strip(), title)
    return None


def _fields(header: Mapping[str, object]) -> JsonObject:
    unknown = sorted(str(name) for name in header if name not in _READERS)
    if unknown:
        message = f"unknown in the header: {', '.join(unknown)} (known: {', '.join(_READERS)})"
        raise JobFileError(message)
    job: JsonObject = {}
    for name, value in header.items():
        target, read = _READERS[name]
        if target in job:
            message = f"the header says {target} twice (once as {name})"
            raise JobFileError(message)
        if value is None:
            continue
        try:
            job[target] = read(value)
        except ValueError as error:
            message = f"{name}: {error}"
            raise JobFileError(message) from None
    return job


def _payload(job: JsonObject) -> JsonObject:
    """Move what is for the worker into the payload."""
    given = job.setdefault("payload", {})
    payload = given if isinstance(given, dict) else {}
    for name in ("cwd", YOLO):
        if name in job:
            payload[name] = job.pop(name)
    if payload.get(YOLO) is True:
        require_yolo(job)
    return payload


def _text(value: object) -> Json:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    message = "must be a text"
    raise ValueError(message)


def _flag(value: object) -> Json:
    word = str(value).lower()
    if word in _YES | _NO:
        return word in _YES
    message = "must be true or false"
    raise ValueError(message)


def _number(value: object) -> Json:
    if isinstance(value, bool) or not str(value).isdigit():
        message = "must be a whole number"
        raise ValueError(message)
    return int(str(value))


def _length(value: object) -> Json:
    return duration_s(str(value))


def _moment(value: object) -> Json:
    return value.isoformat() if isinstance(value, date | datetime) else _text(value)


def _names(value: object) -> Json:
    """Accept a YAML list, or one text with commas."""
    if isinstance(value, list):
        return [_text(each) for each in value]
    return [name.strip() for name in str(_text(value)).split(",") if name.strip()]


def _mapping(value: object) -> Json:
    if isinstance(value, dict):
        return {str(name): _json(each) for name, each in value.items()}
    message = "must be a list of `name: value` lines"
    raise ValueError(message)


def _json(value: object) -> Json:
    """Keep what JSON knows; dates, which only YAML knows, become texts."""
    match value:
        case dict():
            return _mapping(value)
        case list():
            return [_json(each) for each in value]
        case str() | int() | float() | None:
            return value
        case _:
            return _moment(value)


def _labels(value: object) -> Json:
    given = _mapping(value)
    return {name: _text(each) for name, each in given.items()} if isinstance(given, dict) else {}


_TYPED: Final = frozenset({"payload", "run_after"})
"""Where YAML may say what a value is. Elsewhere it stands as it was written: ``0x10`` and ``010``
are names of locks like others, and not 16 and 8."""

_Reader = Callable[[object], Json]

_READERS: Final[Mapping[str, tuple[str, _Reader]]] = {
    "engine": ("prefers_engine", _text),
    "prefers_engine": ("prefers_engine", _text),
    "lock": ("lock", _text),
    "timeout": ("timeout_s", _length),
    "timeout_s": ("timeout_s", _length),
    "cwd": ("cwd", _text),
    "yolo": (YOLO, _flag),
    "kind": ("kind", _text),
    "repo": ("repo", _text),
    "priority": ("priority", _text),
    "cost": ("cost_class", _text),
    "cost_class": ("cost_class", _text),
    "capabilities": ("required_capabilities", _names),
    "required_capabilities": ("required_capabilities", _names),
    "depends_on": ("depends_on", _names),
    "if_parent_fails": ("if_parent_fails", _text),
    "run_after": ("run_after", _moment),
    "max_attempts": ("max_attempts", _number),
    "dedupe_key": ("dedupe_key", _text),
    "labels": ("labels", _labels),
    "payload": ("payload", _mapping),
}
"""What a header may say: the field of the job it becomes, and how its value is read."""
