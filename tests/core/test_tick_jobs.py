"""How a tick's job ended, and how little an agent's words can be trusted to be."""

import pytest
from pydantic import TypeAdapter, ValidationError

from app.fleet import (
    IfParentFails,
    JobClass,
    JobRecord,
    JobState,
    Json,
)
from app.tick_jobs import (
    End,
    JobReport,
    dedupe_key,
    ending,
    number_of,
    placeable,
    shown_key,
    text_of,
)
from app.wire.values import Name
from tests.strategies import NOW, job_id, make_factory


def test_a_report_is_read_off_the_stored_job() -> None:
    record = JobRecord(
        id=job_id(1),
        version=3,
        kind="implement",
        state=JobState.CANCELLED,
        job_class=JobClass(),
        repo=None,
        payload={},
        labels={},
        depends_on=(),
        if_parent_fails=IfParentFails.CANCEL,
        run_after=None,
        timeout_s=60,
        attempts=1,
        attempts_max=3,
        dedupe_key=None,
        hold=None,
        factory_id=None,
        fence=1,
        fence_open=True,
        claimed_at=None,
        lease_expires_at=None,
        cancel_requested=False,
        result={"pr_url": "x"},
        error="no",
        created_at=NOW,
        updated_at=NOW,
        finished_at=NOW,
    )

    assert JobReport.of(record, "ann") == JobReport(
        state=JobState.CANCELLED,
        at_work=True,
        result={"pr_url": "x"},
        error="no",
        cancelled_by="ann",
        finished_at=NOW,
    )


@pytest.mark.parametrize("state", JobState)
def test_a_job_has_ended_if_its_state_says_so(state: JobState) -> None:
    ends = {
        JobState.SUCCEEDED: End.SUCCEEDED,
        JobState.DEAD: End.FAILED,
        JobState.CANCELLED: End.CANCELLED,
    }
    found = ending(JobReport(state=state), placeable=True, now=NOW)

    assert (found and found.end) == ends.get(state)


def test_an_agent_with_nothing_to_say_has_still_done_its_work() -> None:
    found = ending(JobReport(state=JobState.SUCCEEDED), placeable=False, now=NOW)

    assert found is not None
    assert (found.end, found.result, found.at) == (End.SUCCEEDED, {}, NOW)


@pytest.mark.parametrize("result", [[], "done", 1, True])
def test_a_result_that_is_no_object_is_malformed(result: Json) -> None:
    found = ending(JobReport(state=JobState.SUCCEEDED, result=result), placeable=True, now=NOW)

    assert found is not None
    assert (found.end, found.result) == (End.MALFORMED, None)


def test_work_is_placeable_if_a_registered_factory_offers_what_it_requires() -> None:
    docker = make_factory(capabilities=frozenset({"docker"}), engines=frozenset({"claude"}))

    assert placeable(frozenset({"docker", "engine:claude"}), [make_factory("f2"), docker])
    assert not placeable(frozenset({"gpu"}), [docker])
    assert not placeable(frozenset(), [])


def test_a_text_says_something_and_a_number_can_be_compared() -> None:
    assert [text_of(each) for each in (" a ", " ", "", None, 1)] == ["a", None, None, None, None]
    bad: list[Json] = [True, None, "1", float("nan"), float("inf"), [1]]
    assert [number_of(each) for each in (1, 0.5, -2)] == [1, 0.5, -2]
    assert [number_of(each) for each in bad] == [None] * len(bad)


def test_no_caller_can_send_the_key_of_a_tick() -> None:
    key = dedupe_key("repo", "shop", "run", 7)
    names = TypeAdapter[str](Name)
    with pytest.raises(ValidationError):
        names.validate_python(key)
    assert names.validate_python(shown_key(key)) == "repo:shop:run:7"


def test_any_other_key_is_shown_as_it_was_sent() -> None:
    assert shown_key("nightly") == "nightly"
    assert shown_key(None) is None
