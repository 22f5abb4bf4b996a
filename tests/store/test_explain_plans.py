"""The plans of the statements of explanations: at 100,000 jobs, none reads them end to end."""

import pytest

from app.store.sql import sql
from tests.support.crowd import Crowd
from tests.support.plans import scanned_whole

STATEMENTS = (
    "explain_above",
    "explain_ahead",
    "explain_ahead_repo",
    "explain_below",
    "explain_oldest",
    "explain_oldest_repo",
    "explain_repo_classes",
    "job_kinds",
    "job_situation",
)


@pytest.mark.parametrize("name", STATEMENTS)
def test_jobs_are_not_read_whole(crowd: Crowd, name: str) -> None:
    assert scanned_whole(crowd.plan(sql(name))) == set()
