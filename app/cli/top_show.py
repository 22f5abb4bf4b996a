"""A frame of ``fleet top`` on a screen, or as JSON."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from app.cli.durations import ago, short
from app.cli.factories import WORKING, standing_of
from app.cli.screen import one_line, table
from app.cli.top_read import DEAD_SHOWN, Frame, Running
from app.fleet import Json, JsonObject
from app.wire.factories import FactoryReply

_OTHER_LINES = 12
_LEAST_ROWS = 5


def show_frame(frame: Frame, url: str, *, height: int | None = None) -> RenderableType:
    """Lay out a frame; ``height`` is that of the screen, which is not to be overrun."""
    runs: dict[str | None, list[Running]] = {}
    for each in frame.running:
        runs.setdefault(each.job.factory_id, []).append(each)
    # What works, or needs somebody's eye, comes first: the rest may fall below the edge.
    ordered = sorted(frame.factories, key=lambda one: (one.id not in runs, one.stale, one.id))
    dead = min(len(frame.dead), DEAD_SHOWN)
    room = None if height is None else max(_LEAST_ROWS, height - _OTHER_LINES - dead)
    rows: list[Sequence[str | Text]] = []
    shown = 0
    for factory in ordered:
        theirs = runs.get(factory.id, [])
        if room is not None and len(rows) + max(1, len(theirs)) > room and rows:
            break
        rows += _rows(factory, theirs, frame)
        shown += 1
    parts: list[RenderableType] = [_totals(frame, url), Text()]
    parts.append(table(("factory", "state", "seats", "runs", "for", "seen"), rows))
    if shown < len(ordered):
        parts.append(Text(f"… and {len(ordered) - shown} more", "dim"))
    parts += _waiting(frame)
    parts += _dead(frame)
    return Group(*parts)


def plain(frame: Frame) -> JsonObject:
    """Write a frame for programs."""
    runs: dict[str | None, list[Json]] = {}
    for each in frame.running:
        since = None if each.since is None else each.since.isoformat()
        runs.setdefault(each.job.factory_id, []).append(
            {"job_id": str(each.job.id), "kind": each.job.kind, "since": since}
        )
    return {
        "at": frame.at.isoformat(),
        "factories": [
            {
                "id": each.id,
                "state": _state(each, runs.get(each.id, [])).plain,
                "seats_used": each.seats_used,
                "seat_limit": each.seat_limit,
                "last_seen_at": each.last_seen_at.isoformat(),
                "running": runs.get(each.id, []),
            }
            for each in frame.factories
        ],
        "pending": {**frame.pending},
        "claims_per_minute": frame.claims_per_minute,
        "running": len(frame.running),
        "dead": len(frame.dead),
        "more": [*sorted(frame.more)],
    }


def _totals(frame: Frame, url: str) -> Text:
    used = sum(each.seats_used for each in frame.factories)
    seats = sum(each.seat_limit for each in frame.factories)
    facts = (
        (_count(frame, "factories", len(frame.factories)), "factories"),
        (f"{used}/{seats}", "seats used"),
        (_count(frame, "running", len(frame.running)), "running"),
        (str(sum(frame.pending.values())), "pending"),
        (str(frame.claims_per_minute), "claims in the last minute"),
        (_count(frame, "dead", len(frame.dead)), "dead"),
    )
    said = Text(f"{url}, {frame.at:%Y-%m-%d %H:%M:%SZ}\n", "dim")
    for place, (number, name) in enumerate(facts):
        said.append(" · " if place else "", "dim").append(number, "bold").append(f" {name}")
    return said


def _count(frame: Frame, name: str, count: int) -> str:
    return f"{count}+" if name in frame.more else str(count)


def _rows(
    factory: FactoryReply, theirs: Sequence[Running], frame: Frame
) -> list[Sequence[str | Text]]:
    first = (factory.id, _state(factory, theirs), f"{factory.seats_used}/{factory.seat_limit}")
    seen = ago(factory.last_seen_at, frame.at)
    if not theirs:
        return [(*first, Text("-", "dim"), "-", seen)]
    rows: list[Sequence[str | Text]] = []
    for each in theirs:
        what = f"{each.job.kind} {each.job.id}"
        length = "…" if each.since is None else short(frame.at - each.since)
        rows.append((*first, what, length, seen) if not rows else ("", "", "", what, length, ""))
    return rows


def _state(factory: FactoryReply, theirs: Sequence[object]) -> Text:
    """Say what keeps it from working; if nothing does, whether it works."""
    state = standing_of(factory)
    return Text("idle", "dim") if state.plain == WORKING and not theirs else state


def _waiting(frame: Frame) -> list[RenderableType]:
    if not frame.pending:
        return [Text(), Text("nothing waits", "dim")]
    counted = sorted(frame.pending.items(), key=lambda item: (-item[1], item[0]))
    parts = ", ".join(f"{count} {reason}" for reason, count in counted)
    return [Text(), Text.assemble(("pending ", "bold"), parts)]


def _dead(frame: Frame) -> list[RenderableType]:
    if not frame.dead:
        return []
    rows = [
        (str(each.id), each.kind, ago(each.finished_at, frame.at), one_line(each.error or ""))
        for each in frame.dead[:DEAD_SHOWN]
    ]
    return [Text(), table(("dead", "kind", "since", "error"), rows)]
