"""Scenarios of policy tests, as people write them: YAML, read strictly."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from uuid import UUID

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from app.cli.durations import duration_s
from app.cli.errors import CliError
from app.eligibility import Reason
from app.fleet import (
    Context,
    CostClass,
    Factory,
    FactoryId,
    Health,
    Job,
    JobClass,
    JobId,
    JobState,
    LockHolder,
    Priority,
    Standing,
)
from app.policy import Refused, Scenario
from app.wire.faults import faults_of

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_BY = "the scenario"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _FactoryText(_Strict):
    capabilities: frozenset[str] = frozenset()
    engines: frozenset[str] = frozenset()
    warm_repos: frozenset[str] = frozenset()
    cost_ceiling: CostClass = CostClass.HIGH
    seat_limit: Annotated[int, Field(ge=0)] = 1
    seats_used: Annotated[int, Field(ge=0)] = 0
    external_load: Annotated[int, Field(ge=0)] = 0
    health: Health = Health.OK
    draining: bool = False
    paused: bool = False
    quarantined: bool = False
    cooling_down: bool = False


class _JobText(_Strict):
    repo: str | None = None
    required_capabilities: frozenset[str] = frozenset()
    prefers_engine: str | None = None
    cost_class: CostClass = CostClass.LOW
    priority: Priority = Priority.NORMAL
    lock: str | None = None
    excluded_factories: frozenset[str] = frozenset()
    age: Annotated[int, BeforeValidator(lambda text: duration_s(str(text)))] = 0
    state: JobState = JobState.READY
    on_hold: bool = False


class _RefusedText(_Strict):
    job: str
    factory: str
    reasons: frozenset[Reason]


class _ExpectText(_Strict):
    picks: dict[str, str | None] = Field(default_factory=dict)
    rankings: dict[str, list[str]] = Field(default_factory=dict)
    together: dict[str, list[str]] = Field(default_factory=dict)
    refused: list[_RefusedText] = Field(default_factory=list)


class _ScenarioText(_Strict):
    name: str
    factories: dict[str, _FactoryText]
    jobs: dict[str, _JobText] = Field(default_factory=dict)
    locks_held: frozenset[str] = frozenset()
    expect: _ExpectText


class _FileText(_Strict):
    scenarios: list[_ScenarioText] = Field(min_length=1)


def read_scenarios(path: Path) -> tuple[Scenario, ...]:
    """Read the scenarios of a file.

    Raises:
        CliError: it cannot be read, or says what no scenario says.
    """
    try:
        text = _FileText.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        message = f"{path}: {' '.join(str(error).split())}"
        raise CliError(message) from None
    except ValidationError as error:
        message = f"{path}: {next(iter(faults_of(error)))}"
        raise CliError(message) from None
    return tuple(_scenario(each, path) for each in text.scenarios)


def _scenario(text: _ScenarioText, path: Path) -> Scenario:
    expect = text.expect
    _check_names(text, path)
    holder = LockHolder(job_id=JobId(UUID(int=0)))
    return Scenario(
        name=text.name,
        ctx=Context(now=_NOON, locks=dict.fromkeys(text.locks_held, holder)),
        factories={name: _factory(name, each) for name, each in text.factories.items()},
        jobs={name: _job(number, each) for number, (name, each) in enumerate(text.jobs.items(), 1)},
        picks=expect.picks,
        rankings=expect.rankings,
        together=expect.together,
        refused=[
            Refused(job=each.job, factory=each.factory, reasons=each.reasons)
            for each in expect.refused
        ],
    )


def _check_names(text: _ScenarioText, path: Path) -> None:
    """Refuse expectations about what is not there.

    Raises:
        CliError: a name is neither among the factories nor among the jobs.
    """
    expect = text.expect
    factories = {*expect.picks, *expect.rankings, *expect.together}
    factories |= {each.factory for each in expect.refused}
    jobs = {name for name in expect.picks.values() if name is not None}
    jobs |= {name for names in expect.rankings.values() for name in names}
    jobs |= {name for names in expect.together.values() for name in names}
    jobs |= {each.job for each in expect.refused}
    unknown = sorted((factories - text.factories.keys()) | (jobs - text.jobs.keys()))
    if unknown:
        message = f"{path}: {text.name}: there is no {', '.join(unknown)}"
        raise CliError(message)


def _factory(name: str, text: _FactoryText) -> Factory:
    soon = _NOON + timedelta(hours=1)
    return Factory(
        id=FactoryId(name),
        capabilities=text.capabilities,
        engines=text.engines,
        warm_repos=text.warm_repos,
        cost_ceiling=text.cost_ceiling,
        seat_limit=text.seat_limit,
        seats_used=text.seats_used,
        external_load=text.external_load,
        health=text.health,
        drain=Standing(reason="drain", by=_BY) if text.draining else None,
        pause=Standing(reason="pause", by=_BY) if text.paused else None,
        quarantined_until=soon if text.quarantined else None,
        cooldown_until=soon if text.cooling_down else None,
        last_seen_at=_NOON,
    )


def _job(number: int, text: _JobText) -> Job:
    """Make a job; of jobs of one age those that are written first have the smaller id."""
    return Job(
        id=JobId(UUID(int=number)),
        job_class=JobClass(
            required=text.required_capabilities,
            prefers_engine=text.prefers_engine,
            cost_class=text.cost_class,
            priority=text.priority,
            lock=text.lock,
            excluded=frozenset(FactoryId(each) for each in text.excluded_factories),
        ),
        created_at=_NOON - timedelta(seconds=text.age),
        repo=text.repo,
        state=text.state,
        hold=Standing(reason="hold", by=_BY) if text.on_hold else None,
    )
