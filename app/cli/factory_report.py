"""What ``fleet factory run`` says: a line for everything that happens."""

import json
from contextlib import suppress

import typer

from app.fleet import JsonObject
from app.runtime.clock import now_utc
from app.sdk import Happening, LoopEvent
from app.wire.claims import ScoreReply

_QUIET = frozenset({Happening.WAITING, Happening.NOTHING})
_COLOURS = {
    Happening.SUCCEEDED: "green",
    Happening.FAILED: "red",
    Happening.LOST: "yellow",
    Happening.UNREACHABLE: "yellow",
}


class Reporter:
    """Writes lines for people to standard error, or JSON for programs to standard output."""

    def __init__(self, *, as_json: bool) -> None:
        """Choose for whom."""
        self._as_json = as_json

    def tell(self, event: LoopEvent) -> None:
        """Write one event."""
        # Whoever listened may be gone; the work goes on.
        with suppress(OSError):
            if self._as_json:
                typer.echo(json.dumps(_plain(event)))
            elif event.what not in _QUIET:
                typer.secho(_line(event), err=True, fg=_COLOURS.get(event.what))


def score_line(score: ScoreReply) -> str:
    """Write a score as the sum it is: ``1580 = capability_fit 200 + affinity 100 - …``."""
    total = ""
    for name, points in score.breakdown.items():
        sign = "-" if points < 0 else "+"
        total += f" {sign} {name} {abs(points)}"
    return f"{score.total} = {total.removeprefix(' + ').strip()}"


def _line(event: LoopEvent) -> str:
    parts = [now_utc().strftime("%H:%M:%SZ"), event.what.value.replace("_", " ")]
    if event.claim is not None:
        job = event.claim.job
        parts.append(f"{job.kind} {job.id}")
        if event.what is Happening.CLAIMED:
            parts.append(f"(score {score_line(event.claim.score)})")
    if event.detail:
        parts.append(f"- {event.detail}")
    return " ".join(parts)


def _plain(event: LoopEvent) -> JsonObject:
    plain: JsonObject = {
        "at": now_utc().isoformat(),
        "event": event.what.value,
        "detail": event.detail,
    }
    claim = event.claim
    if claim is not None:
        plain |= {
            "job_id": str(claim.job.id),
            "kind": claim.job.kind,
            "fence": claim.lease.fence,
            "decision_id": str(claim.decision_id),
            "score": {"total": claim.score.total, "breakdown": dict(claim.score.breakdown)},
        }
    return plain
