"""Decisions in words.

A decision carries its reasons as facts; here they are put into words for people. Nothing is decided
here, and nothing is looked up: the sentence about a refusal is made of the very
:class:`app.eligibility.Rejection` that refused.

Times are written to the second and in UTC, and each is said once.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from app.eligibility import Reason, Rejection
from app.fleet import FINISHED, FactoryId, Job, JobId, JobState

JOB_SIDE = frozenset(
    {
        Reason.NOT_READY,
        Reason.PARENT_UNFINISHED,
        Reason.LOCK_HELD,
        Reason.NOT_BEFORE,
        Reason.ON_HOLD,
    }
)
"""What keeps a job from every factory alike."""


def moment(at: datetime) -> str:
    """Write a time as all sentences do."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def told(rejections: Sequence[Rejection]) -> tuple[Rejection, ...]:
    """Leave out "it is not ready" where another reason says in which way."""
    reasons = {each.reason for each in rejections}
    return tuple(
        each
        for each in rejections
        if each.reason is not Reason.NOT_READY
        or each.state not in _SAYS_WHY
        or _SAYS_WHY[each.state] not in reasons
    )


def sentence(rejection: Rejection) -> str:
    """Say one reason in words, with what is known of when it clears."""
    words = _WORDS[rejection.reason]
    if rejection.reason is Reason.NOT_READY and rejection.state is not None:
        words = _NOT_READY[rejection.state]
    said = words.format(
        missing=", ".join(rejection.missing),
        parents=", ".join(str(parent) for parent in rejection.parents),
        lock=rejection.lock,
        holder=_holder(rejection),
        because=f" ({rejection.standing.reason}, by {rejection.standing.by})"
        if rejection.standing
        else "",
    )
    until = f", until {moment(rejection.clears_at)}" if rejection.clears_at else ""
    return f"{said}{until}"


def headline(
    job: Job, verdicts: Sequence[Sequence[Rejection]], holder: FactoryId | None = None
) -> str:
    """Say in one line who has a job, or how many can take it, and what stops the others.

    Args:
        job: the job.
        verdicts: for each factory, the holder left out, its reasons against the job.
        holder: the factory that runs the job now, if one does.
    """
    if job.state is JobState.SUCCEEDED:
        return "No factory takes it any more: it succeeded."
    total = len(verdicts)
    own = [[each for each in reasons if each.reason not in JOB_SIDE] for reasons in verdicts]
    able = f"{sum(not reasons for reasons in own)} of {total}"
    noun = "factory" if total == 1 else "factories"
    whys = _counted(own)
    if holder is not None:
        others = f"{able} {'other' if total == 1 else 'others'} could take it{whys}"
        return f"{holder} has it. Were it free, {others}." if total else f"{holder} has it."
    if not total:
        return "No factory is registered."
    common = told([each for each in verdicts[0] if each.reason in JOB_SIDE])
    if not common:
        return f"{able} {noun} can take it{whys}."
    if job.state in FINISHED:
        return f"Only a retry revives it. {able} {noun} could take it then{whys}."
    waits = "; ".join(sentence(each) for each in common)
    return f"No factory can take it now: {waits}. Otherwise {able} could{whys}."


def claim_headline(best: JobId | None, margin: int | None, refusals: Sequence[Rejection]) -> str:
    """Say in one line what a factory's next claim would get."""
    if refusals:
        whys = "; ".join(sentence(each) for each in refusals)
        return f"Its next claim would get nothing: {whys}."
    if best is None:
        return "Its next claim would get nothing: no job waits that it may take now."
    if margin is None:
        return f"Its next claim would get {best}, the only job that it may take now."
    return f"Its next claim would get {best}, {lead(margin)}."


def lead(margin: int) -> str:
    """Say how far ahead of the next a pick is."""
    if not margin:
        return "by a tie-break, for the next ties"
    return f"{margin} {'point' if margin == 1 else 'points'} ahead of the next"


def decision_headline(
    factory_id: FactoryId, job: str, *, total: int, rank: int, margin: int | None
) -> str:
    """Say in one line what a past claim got, and how clear that was."""
    said = "the only job looked at" if margin is None else lead(margin)
    ranked = "" if rank == 1 else f", ranked {rank} after lost races"
    return f"{factory_id} got {job} with a score of {total}, {said}{ranked}."


def pair_headline(
    factory_id: FactoryId,
    job_id: JobId,
    reasons: Sequence[Rejection],
    instead: JobId | None,
) -> str:
    """Say in one line whether a factory's next claim gets a job."""
    if reasons:
        whys = "; ".join(sentence(each) for each in told(reasons))
        return f"{factory_id} cannot take {job_id} now: {whys}."
    if instead is not None:
        return f"{factory_id} could take {job_id}, but its next claim would get {instead}."
    return f"The next claim of {factory_id} gets {job_id}."


def state_sentence(job: Job, holder: FactoryId | None) -> str:
    """Say in a sentence where a job is in its life.

    Args:
        job: the job, with the facts of its state.
        holder: the factory that has it, or had it last.
    """
    until = ""
    if job.state is JobState.LEASED and job.lease_expires_at:
        until = f"; the lease runs until {moment(job.lease_expires_at)} unless it is renewed"
    if job.state is JobState.SCHEDULED and job.run_after:
        until = f", {moment(job.run_after)}"
    if job.state is JobState.HELD and job.hold:
        until = f" ({job.hold.reason}, by {job.hold.by})"
        until += f" until {moment(job.hold.until)}" if job.hold.until else ""
    count = len(job.unfinished_parents)
    said = _STATES[job.state].format(
        holder=holder or "a factory", parents=f"{count} {'job' if count == 1 else 'jobs'}"
    )
    return f"{said}{until}."


_STATES = {
    JobState.READY: "It is ready, and waits for a factory",
    JobState.LEASED: "It runs at {holder}",
    JobState.SCHEDULED: "It waits for its time",
    JobState.BLOCKED: "It waits for {parents} to end",
    JobState.HELD: "It is on hold",
    JobState.SUCCEEDED: "It succeeded at {holder}",
    JobState.DEAD: "It is dead: no attempt is left, and it waits for a retry or a cancel",
    JobState.CANCELLED: "It was cancelled",
}

_SAYS_WHY = {
    JobState.SCHEDULED: Reason.NOT_BEFORE,
    JobState.HELD: Reason.ON_HOLD,
    JobState.BLOCKED: Reason.PARENT_UNFINISHED,
}

_NOT_READY = {
    JobState.READY: "it is ready",
    JobState.LEASED: "it is running",
    JobState.SCHEDULED: "it waits for its time",
    JobState.BLOCKED: "it waits for another job",
    JobState.HELD: "it is on hold",
    JobState.SUCCEEDED: "it has succeeded",
    JobState.DEAD: "it is dead",
    JobState.CANCELLED: "it was cancelled",
}

_WORDS = {
    Reason.NOT_READY: "it is not ready",
    Reason.PARENT_UNFINISHED: "it waits for {parents}",
    Reason.LOCK_HELD: "its lock {lock} is held by {holder}",
    Reason.NOT_BEFORE: "it must not run before its time",
    Reason.ON_HOLD: "the job is on hold{because}",
    Reason.MISSING_CAPABILITY: "the factory lacks {missing}",
    Reason.EXCLUDED: "the job failed at this factory and is kept away from it",
    Reason.DRAINING: "the factory is draining{because}",
    Reason.PAUSED: "the factory is paused{because}",
    Reason.DOWN: "the factory reports that it is down",
    Reason.QUARANTINED: "the factory is in quarantine: its last jobs all failed fast",
    Reason.STALE: "the factory has not been heard of for three heartbeats",
    Reason.NO_SEAT: "the factory has no free seat",
    Reason.ACCOUNT_COOLDOWN: "the factory's account is cooling down",
}


_PREDICATES = {
    Reason.EXCLUDED: ("is excluded after a failure", "are excluded after failures"),
    Reason.DRAINING: ("is draining", "are draining"),
    Reason.PAUSED: ("is paused", "are paused"),
    Reason.DOWN: ("is down", "are down"),
    Reason.QUARANTINED: ("is in quarantine", "are in quarantine"),
    Reason.STALE: ("is not heard of", "are not heard of"),
    Reason.NO_SEAT: ("has no free seat", "have no free seat"),
    Reason.ACCOUNT_COOLDOWN: ("waits for its account", "wait for their accounts"),
}


def _counted(own: Sequence[Sequence[Rejection]]) -> str:
    """Count what stops factories, each kind once a factory."""
    counted = Counter(
        _predicate(reason, lacking)
        for reasons in own
        for reason, lacking in {(each.reason, each.missing) for each in reasons}
    )
    parts = [
        f"{count} {one if count == 1 else many}"
        for (one, many), count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ]
    return f": {', '.join(parts)}" if parts else ""


def _predicate(reason: Reason, lacking: tuple[str, ...]) -> tuple[str, str]:
    if reason is Reason.MISSING_CAPABILITY:
        names = " and ".join(lacking)
        return (f"lacks {names}", f"lack {names}")
    return _PREDICATES[reason]


def _holder(rejection: Rejection) -> str:
    holder = rejection.holder
    if holder is None:
        return ""
    return f"{holder.job_id}" + (f" at {holder.factory_id}" if holder.factory_id else "")
