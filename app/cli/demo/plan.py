"""Who works in the demo, and at what."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.cli.demo.worker import TASKS
from app.fleet import CostClass, Priority
from app.wire.jobs import BatchJob, JobSubmit

HISTORY: Final = "git-history"
"""A capability that only the second factory offers."""

COSTLY: Final = "demo.long_functions"
SUMMARY: Final = "demo.summarise"
LABEL: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFactory:
    """A factory of the demo, as ``fleet factory run`` is told."""

    name: str
    capabilities: tuple[str, ...]
    engine: str
    cost_ceiling: CostClass


FACTORIES: Final = (
    DemoFactory(
        name="demo-small", capabilities=("git",), engine="devin", cost_ceiling=CostClass.LOW
    ),
    DemoFactory(
        name="demo-large",
        capabilities=("git", HISTORY),
        engine="claude",
        cost_ceiling=CostClass.HIGH,
    ),
)


def first_jobs(*, repo: str, reports: Path, run: str) -> list[BatchJob]:
    """Describe the graph: four that look at the repository, and one that sums them up."""
    looks = [kind for kind in TASKS if kind != COSTLY]
    wants = {"demo.count_lines": "devin", "demo.collect_tests": "claude"}
    jobs = [
        BatchJob(
            ref=kind,
            kind=kind,
            repo=repo,
            payload={"reports": str(reports)},
            labels={LABEL: run},
            prefers_engine=wants.get(kind),
            required_capabilities=["git", HISTORY] if kind == "demo.read_history" else ["git"],
            timeout_s=600,
        )
        for kind in looks
    ]
    summary = BatchJob(
        kind=SUMMARY,
        repo=repo,
        payload={"reports": str(reports), "needs": [*looks]},
        labels={LABEL: run},
        priority=Priority.HIGH,
        depends_on=looks,
        timeout_s=600,
    )
    return [*jobs, summary]


def costly_job(*, repo: str, reports: Path, run: str) -> JobSubmit:
    """Describe the job above the first factory's ceiling."""
    return JobSubmit(
        kind=COSTLY,
        repo=repo,
        payload={"reports": str(reports)},
        labels={LABEL: run},
        cost_class=CostClass.HIGH,
        timeout_s=600,
    )
