"""Explanations on a screen: bars for the terms of a score, colour for reasons."""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from app.cli.screen import console, moment, pairs, table
from app.wire.decisions import DecisionReply
from app.wire.explain import (
    FactoryExplanationReply,
    RankedJob,
    ReasonReply,
    ScoreDetail,
)
from app.wire.explain_job import BlockerReply, JobExplanationReply, PairReply, VerdictReply

_BAR_PER = 20
_BAR_LONGEST = 30
_BARS_SHOWN = 3
_DEPENDANTS_SHOWN = 5
_CAN, _LATER, _NEVER = "green", "yellow", "red"


def show_factory(said: FactoryExplanationReply) -> None:
    """Show what a factory's next claim would get, and what is kept from it."""
    screen = console()
    screen.print(f"{said.factory.id}, as of {moment(said.now)}", style="bold")
    screen.print(said.headline, style=_CAN if said.ranking else _LATER)
    for ranked in said.ranking[:_BARS_SHOWN]:
        screen.print(_ranked(ranked))
    rest = said.ranking[_BARS_SHOWN:]
    if rest:
        rows = [
            (str(each.rank), str(each.job_id), str(each.score.total), each.priority)
            for each in rest
        ]
        screen.print(table(("rank", "id", "score", "priority"), rows))
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
        screen.print(f"{names} would unlock {unlock.jobs} {_plural(unlock.jobs, 'job')}")


def show_job(said: JobExplanationReply) -> None:
    """Show why a job is, or is not, taken, and what would change that."""
    screen = console()
    screen.print(f"{said.job_id} is {said.state}, as of {moment(said.now)}", style="bold")
    screen.print(said.sentence)
    screen.print(said.headline)
    if said.queue is not None:
        least = "at least " if said.queue.at_least else ""
        count = said.queue.ahead
        screen.print(
            f"{least}{count} {_plural(count, 'job')} ahead of it at {said.queue.factory_id}"
        )
    for blocker in said.blockers:
        screen.print(_blocker(blocker))
    for verdict in said.verdicts:
        screen.print(_verdict(verdict))
    if said.pair is not None:
        _pair(screen, said.pair)
    if said.dependants:
        shown = ", ".join(str(each.job_id) for each in said.dependants[:_DEPENDANTS_SHOWN])
        screen.print(f"{len(said.dependants)} wait for it: {shown}", style="dim")


def show_decision(said: DecisionReply) -> None:
    """Show what a claim was decided on, and whether it would be decided so again."""
    screen = console()
    screen.print(f"{said.factory_id} got {said.job_id} at {moment(said.at)}", style="bold")
    record = said.record
    picked = record["picked"]
    if isinstance(picked, dict):
        screen.print(bars(ScoreDetail.model_validate(picked["score"])))
    screen.print(f"   score {said.total}, rank {record['rank']}, fence {said.fence}")
    runners_up, lost = record["runners_up"], record["lost"]
    for each in runners_up if isinstance(runners_up, list) else []:
        if isinstance(each, dict):
            screen.print(f"   before {each['job_id']}, {each['total']}", style="dim")
    for each in lost if isinstance(lost, list) else []:
        if isinstance(each, dict):
            screen.print(f"   lost {each['job_id']}: {each['outcome']}", style=_LATER)
    if said.replay.identical:
        screen.print("Today's scheduler decides the same.", style=_CAN)
    for difference in said.replay.differences:
        screen.print(
            f"{difference.field}: recorded {difference.recorded}, now {difference.now}",
            style=_NEVER,
        )


def _ranked(ranked: RankedJob) -> RenderableType:
    title = f"{ranked.rank}. {ranked.job_id}  score {ranked.score.total}"
    if ranked.margin is not None:
        title += (
            f", {ranked.margin} ahead of the next" if ranked.margin else ", a tie with the next"
        )
    about = f"   {ranked.priority}, {ranked.repo or 'no repo'}, since {moment(ranked.created_at)}"
    return Group(Text(title, style="bold"), Text(about, style="dim"), bars(ranked.score))


def _verdict(verdict: VerdictReply) -> RenderableType:
    if verdict.eligible:
        rank = f", rank {verdict.rank}" if verdict.rank else ""
        title = Text(f"{verdict.factory_id}: can take it, score {verdict.score.total}{rank}", _CAN)
        return Group(Text(), title, bars(verdict.score))
    title = Text(f"{verdict.factory_id}: cannot take it (score {verdict.score.total})")
    lines = [
        Text(f"   {reason(each)}", _NEVER if each.permanent else _LATER) for each in verdict.reasons
    ]
    return Group(Text(), title, *lines)


def _blocker(blocker: BlockerReply) -> RenderableType:
    way = " → ".join(str(each) for each in blocker.path)
    return Text(f"really blocked by {way}: {blocker.sentence}", _LATER)


def _pair(screen: Console, pair: PairReply) -> None:
    screen.print(Text())
    screen.print(pair.headline, style=_CAN if pair.would_take else _LATER)
    for flip in pair.flips:
        whats = ", and ".join(change.message for change in flip.changes)
        screen.print(f"   it would, if {whats}")
    if pair.wait is not None:
        until = f", until {moment(pair.wait.until)}" if pair.wait.until else ""
        screen.print(f"   it will by waiting alone at {moment(pair.wait.at)}{until}")


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def bars(score: ScoreDetail) -> RenderableType:
    """Draw the weighted terms of a score; those that cost points are red."""
    return pairs(
        (
            f"   {name}",
            Text.assemble(
                f"{points:>6} ", (_bar(points), "green" if points >= 0 else "red"),
                (f" {score.percents[name]} %" if name in score.percents else "", "dim"),
            ),
        )
        for name, points in score.breakdown.items()
    )  # fmt: skip


def reason(each: ReasonReply) -> str:
    """Write a reason with what clears it."""
    if each.clears_at is not None:
        clears = f"until {moment(each.clears_at)}"
    elif each.permanent:
        clears = "waiting does not help"
    else:
        clears = f"until {each.clears_when.replace('_', ' ')}"
    return f"{each.reason}: {each.message} ({clears})"


def _bar(points: int) -> str:
    return "█" * min(_BAR_LONGEST, (abs(points) + _BAR_PER - 1) // _BAR_PER)
