"""The tables, as SQLModel declares them; alembic's migrations are held to them by a test.

Row-lock order in every statement that takes several: **factory_seat → job → job_lock** (CLAIM.md,
lesson 3), each in the order of its key. Hot rows are narrow: what a decision was (``decision``) and
what happened (``job_event``) are appended elsewhere. A factory's signs of life live apart from its
settings (``factory_pulse``), so that a heartbeat moves no version and takes no seat lock.

Rows never leave ``store``; the modules beside this one translate them into values of
:mod:`app.fleet`.
"""

from app.store.tables.calls import ClaimKeyRow, IdempotencyKeyRow, TokenRow
from app.store.tables.factories import (
    AccountRow,
    FactoryPulseRow,
    FactoryRepoRow,
    FactoryRow,
    FactorySeatRow,
)
from app.store.tables.history import DecisionRow, JobEventRow
from app.store.tables.jobs import JobClassRow, JobDependencyRow, JobLockRow, JobRow
from app.store.tables.repos import (
    RepoCandidateRow,
    RepoIssueRow,
    RepoPullRow,
    RepoRow,
    RepoRunRow,
    WebhookDeliveryRow,
)
from app.store.tables.ticks import TickEpochRow, TickRow
from app.store.tables.workflows import ProjectRow, WorkflowRow

__all__ = [
    "AccountRow",
    "ClaimKeyRow",
    "DecisionRow",
    "FactoryPulseRow",
    "FactoryRepoRow",
    "FactoryRow",
    "FactorySeatRow",
    "IdempotencyKeyRow",
    "JobClassRow",
    "JobDependencyRow",
    "JobEventRow",
    "JobLockRow",
    "JobRow",
    "ProjectRow",
    "RepoCandidateRow",
    "RepoIssueRow",
    "RepoPullRow",
    "RepoRow",
    "RepoRunRow",
    "TickEpochRow",
    "TickRow",
    "TokenRow",
    "WebhookDeliveryRow",
    "WorkflowRow",
]
