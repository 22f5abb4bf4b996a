"""The warning at submission: no factory we know of could ever take this job.

The same permanent checks as the scheduler's decide it, over the registered factories. A job with
such a warning is accepted all the same: the factory that takes it may register later.
"""

from collections.abc import Sequence
from datetime import datetime

from app.eligibility import pair_rejections
from app.fleet import Factory, JobClass


def warnings_for(
    job_class: JobClass, factories: Sequence[Factory], now: datetime
) -> tuple[str, ...]:
    """Say in a sentence why nobody could ever take a job of this class; nothing if somebody may.

    A factory that is being drained is on its way out: if only such factories could take the job,
    that is said too.
    """
    if not factories:
        needs = f" that offers {_listed(sorted(job_class.required))}" if job_class.required else ""
        return (f"No factory is registered. The job waits for one{needs}.",)
    able = [factory for factory in factories if not pair_rejections(job_class, factory)]
    if not able:
        return (_nobody(job_class, factories),)
    leaving = [factory for factory in able if factory.drain and factory.drain.in_force(now)]
    if len(leaving) == len(able):
        return (_only_leaving(job_class, leaving),)
    return ()


def _nobody(job_class: JobClass, factories: Sequence[Factory]) -> str:
    offered = frozenset[str]().union(*(factory.offered for factory in factories))
    unknown = sorted(job_class.required - offered)
    if unknown:
        return f"No factory offers {_listed(unknown, 'or')}."
    nearest = min(factories, key=lambda each: (len(job_class.required - each.offered), each.id))
    missing = sorted(job_class.required - nearest.offered)
    if not missing:
        return "Every factory that could take it is excluded."
    together = _listed(sorted(job_class.required))
    return (
        f"No factory offers {together} together. The nearest, {nearest.id}, "
        f"lacks {_listed(missing)}."
    )


def _only_leaving(job_class: JobClass, leaving: Sequence[Factory]) -> str:
    names = _listed(sorted(factory.id for factory in leaving))
    reasons = sorted({factory.drain.reason for factory in leaving if factory.drain})
    verb = "is" if len(leaving) == 1 else "are"
    if job_class.required:
        offers = _listed(sorted(job_class.required))
        does = "does" if len(leaving) == 1 else "do"
        said = f"No factory that stays offers {offers}. {names} {does}, but {verb} draining"
    else:
        said = f"No factory stays. {names} {verb} draining"
    return f"{said} ({'; '.join(reasons)})."


def _listed(names: Sequence[str], word: str = "and") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
