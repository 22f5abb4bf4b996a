"""Explanations of a job on a screen: what it comes down to first, then only what still matters."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.text import Text

from app.cli.durations import short
from app.cli.explain_show import CAN, LATER, NEVER, bars, plural, reason
from app.cli.screen import console, moment
from app.fleet import FINISHED, JobState
from app.sentences import JOB_SIDE
from app.wire.explain import ReasonReply
from app.wire.explain_job import (
    BlockerReply,
    JobExplanationReply,
    PairReply,
    TenureReply,
    VerdictReply,
)

_DEPENDANTS_SHOWN = 5
_ABLE_SHOWN = 10
_NAMES_SHOWN = 8


def show_job(said: JobExplanationReply) -> None:
    """Show why a job is, or is not, taken, and what would change that."""
    screen = console()
    name = f"{said.job_id} ({said.kind})" if said.kind else f"{said.job_id}"
    if said.tenure is not None:
        _tenure(screen, name, said.tenure, said)
    else:
        screen.print(f"{name} is {said.state}, as of {moment(said.now)}", style="bold")
        _standing(screen, said)
    if said.queue is not None:
        least = "at least " if said.queue.at_least else ""
        count = said.queue.ahead
        screen.print(
            f"{least}{count} {plural(count, 'job')} ahead of it at {said.queue.factory_id}"
        )
    for blocker in said.blockers:
        screen.print(_blocker(blocker))
    if said.pair is not None:
        _pair(screen, said.pair, said)
    elif said.tenure is None and said.state not in FINISHED:
        # Of a job that runs or is over, the headline says all that there is about others.
        _verdicts(screen, said)
    if said.dependants:
        shown = ", ".join(str(each.job_id) for each in said.dependants[:_DEPENDANTS_SHOWN])
        count = len(said.dependants)
        waits = "waits" if count == 1 else "wait"
        screen.print(f"{count} {waits} for it: {shown}", style="dim")


def _standing(screen: Console, said: JobExplanationReply) -> None:
    """Say where a job is that does not run, and what keeps it from all factories, once."""
    common = _common(said.verdicts)
    if said.pair is not None and common and said.state not in FINISHED:
        return
    if said.state in FINISHED or not common:
        screen.print(said.sentence)
        if said.state is not JobState.SUCCEEDED and said.pair is None:
            screen.print(said.headline)
        return
    able = sum(not _own(each) for each in said.verdicts)
    screen.print(f"No factory can take it now; otherwise {able} of {len(said.verdicts)} could.")
    for line in common:
        screen.print(Text(f"   {line}", LATER))


def _tenure(screen: Console, name: str, held: TenureReply, said: JobExplanationReply) -> None:
    """Say who has it, since when, for how long still, and what ends that."""
    screen.print(
        f"{name} runs at {held.factory_id} since {moment(held.since)}, for "
        f"{short(said.now - held.since)}, as of {moment(said.now)}",
        style="bold",
    )
    left = short(held.expires_at - said.now) if held.expires_at > said.now else "over"
    screen.print(
        f"   fence {held.fence}, attempt {held.attempt} of {held.attempts_max}; "
        f"lease until {moment(held.expires_at)} ({left}) unless renewed"
    )
    screen.print("it ends when")
    for end in held.ends:
        screen.print(f"   {end}", style=LATER if held.cancel_requested else "")
    if said.pair is None:
        screen.print(said.headline, style="dim")


def _verdicts(screen: Console, said: JobExplanationReply) -> None:
    """Show which factories can take it, and of the others each one's own reasons."""
    able = [each for each in said.verdicts if not _own(each)]
    for verdict in able[:_ABLE_SHOWN]:
        screen.print(_able(verdict, said.weights))
    if len(able) > _ABLE_SHOWN:
        screen.print(f"… and {len(able) - _ABLE_SHOWN} more that can")
    alike: dict[tuple[str, ...], list[VerdictReply]] = {}
    for verdict in said.verdicts:
        if _own(verdict):
            alike.setdefault(tuple(reason(each) for each in _own(verdict)), []).append(verdict)
    for some in alike.values():
        screen.print(_unable(some))


def _able(verdict: VerdictReply, weights: Mapping[str, int]) -> RenderableType:
    can = "can" if verdict.eligible else "could otherwise"
    rank = f", rank {verdict.rank}" if verdict.rank else ""
    title = f"{verdict.factory_id}: {can} take it, score {verdict.score.total}{rank}"
    if not verdict.eligible:
        return Text(f"\n{title}")
    return Group(Text(), Text(title, CAN), bars(verdict.score, weights))


def _unable(alike: list[VerdictReply]) -> RenderableType:
    names = ", ".join(each.factory_id for each in alike[:_NAMES_SHOWN])
    if len(alike) > _NAMES_SHOWN:
        names += f" and {len(alike) - _NAMES_SHOWN} more"
    lines = [
        Text(f"   {reason(each)}", NEVER if each.permanent else LATER) for each in _own(alike[0])
    ]
    return Group(Text(), Text(f"{names}: cannot take it"), *lines)


def _own(verdict: VerdictReply) -> list[ReasonReply]:
    """What lies with the factory, alone or as a pair with the job."""
    return [each for each in verdict.reasons if each.reason not in JOB_SIDE]


def _common(verdicts: Iterable[VerdictReply]) -> list[str]:
    """What lies with the job itself, and so is the same for every factory."""
    first = next(iter(verdicts), None)
    found = [each for each in first.reasons if each.reason in JOB_SIDE] if first else []
    # "It is not ready" says nothing beside a reason that says why it is not.
    return [reason(each) for each in found if len(found) == 1 or each.state is None]


def _blocker(blocker: BlockerReply) -> RenderableType:
    way = " → ".join(str(each) for each in blocker.path)
    return Text(f"really blocked by {way}: {blocker.sentence}", LATER)


def _pair(screen: Console, pair: PairReply, said: JobExplanationReply) -> None:
    """Say whether the one factory takes it next; its reasons are in the headline."""
    screen.print(Text())
    screen.print(pair.headline, style=CAN if pair.would_take else LATER)
    for flip in pair.flips:
        whats = ", and ".join(change.message for change in flip.changes)
        screen.print(f"   it would, if {whats}")
    if pair.wait is not None:
        until = f", until {moment(pair.wait.until)}" if pair.wait.until else ""
        screen.print(f"   it will by waiting alone at {moment(pair.wait.at)}{until}")
    for verdict in said.verdicts:
        if said.tenure is None and said.state not in FINISHED:
            screen.print(f"its score there is {verdict.score.total}")
            screen.print(bars(verdict.score, said.weights))
