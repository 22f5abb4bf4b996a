"""The plans of the statements over jobs: at 100,000 of them, none is read from end to end."""

import pytest

from app.fleet import FactoryId, JobId, JobState
from app.runtime.ids import new_id
from app.store.listing import JobFilter, page_query
from app.store.session import statement
from app.store.sql import sql
from tests.support.crowd import Crowd
from tests.support.plans import scanned_whole

STATEMENTS = (
    "backlog_waiting",
    "claim_commit",
    "claim_heads",
    "claim_heads_repo",
    "claim_key_read",
    "claim_read",
    "claim_standing",
    "class_new",
    "dependency_add",
    "dependency_ancestors",
    "dependency_blame",
    "dependency_lock_family",
    "dependency_lock_parents",
    "dependency_remove",
    "dependency_to_revive",
    "history_read",
    "job_by_dedupe_key",
    "job_edit",
    "job_insert",
    "job_read",
    "life_read",
    "life_write",
    "lock_free",
)

PAGES = (
    JobFilter(),
    *(JobFilter(state=state) for state in JobState),
    JobFilter(state=JobState.DEAD, kind="kind3", repo="repo7", labels={"team": "t1"}),
    JobFilter(kind="kind3"),
    JobFilter(repo="repo7"),
    JobFilter(factory_id=FactoryId("f7")),
    JobFilter(labels={"team": "t1"}),
)


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_table_is_read_whole(crowd: Crowd, name: str) -> None:
    assert scanned_whole(crowd.plan(sql(name))) == set()


@pytest.mark.parametrize("after", [None, JobId(new_id())])
@pytest.mark.parametrize("wanted", PAGES)
def test_a_page_is_read_by_an_index(crowd: Crowd, wanted: JobFilter, after: JobId | None) -> None:
    text, arguments = statement(page_query(wanted, after=after, limit=51))
    assert scanned_whole(crowd.plan(text, *arguments)) == set()
