"""Explanations of factories and decisions on a screen: scores with their working, and reasons."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Final

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.text import Text

from app.cli.screen import console, moment, pairs, table
from app.eligibility import ClearsWhen
from app.scheduler import Terms
from app.wire.decisions import DecisionReply
from app.wire.explain import FactoryExplanationReply, RankedJob, ReasonReply, ScoreDetail

CAN, LATER, NEVER = "green", "yellow", "red"

_BAR_PER = 20
_BAR_LONGEST = 30
_BARS_SHOWN = 3
_TERMS: Final = tuple(each.name for each in fields(Terms))

_CLEARS: Final[Mapping[ClearsWhen, str]] = {
    ClearsWhen.PARENT_ENDS: "until that ends",
    ClearsWhen.LOCK_FREED: "until the lock is free",
    ClearsWhen.LEASE_ENDS: "until its lease ends",
    ClearsWhen.RUN_AFTER: "until its time has come",
    ClearsWhen.UNHOLD: "until the hold is lifted",
    ClearsWhen.RETRY: "until it is retried",
    ClearsWhen.NEVER: "for good",
    ClearsWhen.CAPABILITY_OFFERED: "waiting does not help",
    ClearsWhen.EXCLUSION_DROPPED: "waiting does not help",
    ClearsWhen.RESUME: "until it is resumed",
    ClearsWhen.HEALTH_REPORTED: "until it reports that it is well",
    ClearsWhen.QUARANTINE_LIFTED: "until the quarantine is lifted",
    ClearsWhen.HEARTBEAT: "until its next sign of life",
    ClearsWhen.SEAT_FREED: "until a seat is free",
    ClearsWhen.COOLDOWN_LIFTED: "until the limit is lifted",
}


def show_factory(said: FactoryExplanationReply) -> None:
    """Show what a factory's next claim would get, and what is kept from it."""
    screen = console()
    screen.print(f"{said.factory.id}, as of {moment(said.now)}", style="bold")
    screen.print(said.headline, style=CAN if said.ranking else LATER)
    for ranked in said.ranking[:_BARS_SHOWN]:
        screen.print(_ranked(ranked, said.weights))
    rest = said.ranking[_BARS_SHOWN:]
    if rest:
        rows = [
            (
                f"{each.rank}",
                f"{each.job_id}",
                each.kind or "-",
                f"{each.score.total}",
                each.priority,
            )
            for each in rest
        ]
        screen.print(table(("rank", "id", "kind", "score", "priority"), rows))
    if any(step.dropped for step in said.survivors):
        screen.print(Text())
        steps = [
            (step.reason.value, str(step.dropped), str(step.left))
            for step in said.survivors
            if step.dropped
        ]
        screen.print(table(("kept from it by", "jobs", "left"), steps))
    for unlock in said.unlocks[:_BARS_SHOWN]:
        names = ", ".join(unlock.capabilities)
        screen.print(f"{names} would unlock {unlock.jobs} {plural(unlock.jobs, 'job')}")


def show_decision(said: DecisionReply) -> None:
    """Show what a claim was decided on, how clear it was, and whether it would be decided so now.

    The record is what was written then, so whatever of it is not as today's is just not shown.
    """
    screen = console()
    picked, weights = _object(said.record.get("picked")), _object(said.record.get("weights"))
    screen.print(said.headline, style="bold")
    about = ", ".join(
        [
            str(_object(picked.get("class")).get("priority")),
            str(picked.get("repo") or "no repo"),
            f"rank {said.record.get('rank')}",
            f"fence {said.fence}",
            f"decided at {moment(said.at)}",
        ]
    )
    screen.print(f"   {about}", style="dim")
    score = ScoreDetail.model_validate(picked["score"])
    screen.print(bars(score, {name: int(str(each)) for name, each in weights.items()}))
    for place, each in enumerate(_objects(said.record.get("runners_up")), start=2):
        behind = said.total - int(str(each["total"]))
        how = f"{behind} behind" if behind else "a tie, decided by " + _tie_break(picked, each)
        screen.print(f"   {place}. {_job(each, said)}, score {each['total']}, {how}", style="dim")
    for each in _objects(said.record.get("lost")):
        screen.print(
            f"   ranked {each['rank']} but lost: {_job(each, said)}, {each['outcome']}", style=LATER
        )
    kept = _object(said.record.get("kept_from_it"))
    if counts := _object(kept.get("jobs")):
        counted = ", ".join(f"{count} {reason}" for reason, count in counts.items())
        at = moment(datetime.fromisoformat(str(kept["counted_at"])))
        screen.print(f"   kept from it, as counted at {at}: {counted}", style=LATER)
    if said.replay.identical:
        screen.print("Today's scheduler decides the same.", style=CAN)
    for difference in said.replay.differences:
        screen.print(
            f"{difference.field}: recorded {difference.recorded}, now {difference.now}",
            style=NEVER,
        )


def bars(score: ScoreDetail, weights: Mapping[str, int]) -> RenderableType:
    """Draw how each term is weighted, and what that adds to the score or takes from it."""
    return pairs(
        (f"   {name}", _term(name, score, weights))
        for name in sorted(score.breakdown, key=_place_of_term)
    )


def reason(each: ReasonReply) -> str:
    """Write a reason with what clears it; a time at which it does is in its message already."""
    clears = "" if each.clears_at is not None else f" ({_CLEARS[each.clears_when]})"
    return f"{each.reason}: {each.message}{clears}"


def plural(count: int, word: str) -> str:
    """Write a word for so many."""
    return word if count == 1 else f"{word}s"


def _ranked(ranked: RankedJob, weights: Mapping[str, int]) -> RenderableType:
    title = f"{ranked.rank}. {ranked.job_id}  score {ranked.score.total}"
    if ranked.margin is not None:
        title += (
            f", {ranked.margin} ahead of the next" if ranked.margin else ", a tie with the next"
        )
    about = (
        f"   {ranked.kind or 'gone'}, {ranked.priority}, {ranked.repo or 'no repo'}, "
        f"since {moment(ranked.created_at)}"
    )
    return Group(Text(title, style="bold"), Text(about, style="dim"), bars(ranked.score, weights))


def _term(name: str, score: ScoreDetail, weights: Mapping[str, int]) -> Text:
    """Write a term as the product that it is: ``50 % · 2 = 100``."""
    points = score.breakdown[name]
    working = ""
    if name in score.percents:
        weight = weights.get(name.removesuffix("_fit").removesuffix("_penalty"), 0)
        if name == "starvation_penalty":
            weight = -weight
        working = f"{score.percents[name]:>4} % · {weight:>2} = "
    bar = (_bar(points), CAN if points >= 0 else NEVER)
    return Text.assemble((working, "dim"), f"{points:>5} ", bar)


def _place_of_term(name: str) -> int:
    return _TERMS.index(name) if name in _TERMS else len(_TERMS)


def _bar(points: int) -> str:
    return "█" * min(_BAR_LONGEST, (abs(points) + _BAR_PER - 1) // _BAR_PER)


def _job(each: Mapping[str, JsonValue], said: DecisionReply) -> str:
    job_id = str(each["job_id"])
    kind = said.kinds.get(job_id)
    return f"{job_id} ({kind})" if kind else job_id


def _tie_break(picked: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> str:
    """Name what came first of the scheduler's tie-breaks: priority, age, cost, id."""
    one, two = _object(picked.get("class")), _object(other.get("class"))
    if one.get("priority") != two.get("priority"):
        return "priority"
    if picked.get("created_at") != other.get("created_at"):
        return "age"
    return "cost" if one.get("cost_class") != two.get("cost_class") else "id"


def _object(value: JsonValue | None) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue | None) -> list[Mapping[str, JsonValue]]:
    return [_object(each) for each in value] if isinstance(value, list) else []
