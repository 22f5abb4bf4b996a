"""Policy tests: a small world, and what the shipped scheduler is expected to do with it.

A scenario names factories, jobs and the time, and expects: which job each factory gets if it asks
alone, in which order it would take them, who gets what if all ask at once, and for which reasons a
factory may not take a job. It is run by the very functions that claims are decided by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.fleet import Context, Factory, Job
from app.scheduler import Reason, Seeker, match, rank, rejections, select_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """That a factory may not take a job, for exactly these reasons; none: that it may."""

    job: str
    factory: str
    reasons: frozenset[Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A world, jobs and factories by their names in it, and what is expected."""

    name: str
    ctx: Context
    factories: Mapping[str, Factory]
    jobs: Mapping[str, Job]
    picks: Mapping[str, str | None] = field(default_factory=dict)
    rankings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    together: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refused: Sequence[Refused] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An expectation that was not met."""

    what: str
    expected: str
    found: str


def run(scenario: Scenario) -> tuple[Finding, ...]:
    """Ask the scheduler, and tell what came out otherwise than expected."""
    checks = (
        *_picks(scenario),
        *_rankings(scenario),
        *_together(scenario),
        *_refusals(scenario),
    )
    return tuple(
        Finding(what=what, expected=expected, found=found)
        for what, expected, found in checks
        if expected != found
    )


def _picks(scenario: Scenario) -> list[tuple[str, str, str]]:
    names = _names(scenario)
    checks = []
    for factory, expected in scenario.picks.items():
        job = select_job(scenario.jobs.values(), scenario.factories[factory], scenario.ctx)
        found = names[job] if job else "nothing"
        checks.append((f"pick of {factory}", expected or "nothing", found))
    return checks


def _rankings(scenario: Scenario) -> list[tuple[str, str, str]]:
    names = _names(scenario)
    checks = []
    for factory, expected in scenario.rankings.items():
        ranked = rank(scenario.jobs.values(), scenario.factories[factory], scenario.ctx)
        found = [names[one.job] for one in ranked]
        checks.append((f"ranking of {factory}", _listed(expected), _listed(found)))
    return checks


def _together(scenario: Scenario) -> list[tuple[str, str, str]]:
    if not scenario.together:
        return []
    names = _names(scenario)
    seekers = [
        Seeker(factory=factory, max_jobs=max(1, factory.seats_free))
        for factory in scenario.factories.values()
    ]
    given: dict[str, list[str]] = {}
    for pick in match(seekers, scenario.jobs.values(), scenario.ctx):
        given.setdefault(pick.factory_id, []).append(names[pick.job])
    return [
        (f"jobs of {factory}, all asking at once", _listed(expected), _listed(found))
        for factory, expected in scenario.together.items()
        for found in [given.get(scenario.factories[factory].id, [])]
    ]


def _refusals(scenario: Scenario) -> list[tuple[str, str, str]]:
    checks = []
    for each in scenario.refused:
        job, factory = scenario.jobs[each.job], scenario.factories[each.factory]
        found = {one.reason for one in rejections(job, factory, scenario.ctx)}
        what = f"reasons why {each.factory} may not take {each.job}"
        checks.append((what, _listed(sorted(each.reasons)), _listed(sorted(found))))
    return checks


def _names(scenario: Scenario) -> dict[Job, str]:
    return {job: name for name, job in scenario.jobs.items()}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
