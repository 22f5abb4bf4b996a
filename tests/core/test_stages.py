"""What executing a workflow means: the table of stages, walked, and each failure's answer."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app import stages, workflow_calls
from app.fleet import CostClass, JobState, Json, Priority
from app.stages import FAILURES_MAX, STAGES, Ended, Nothing, Place, Running, Submit
from app.tick_jobs import End, JobDefaults, JobKind, JobReport
from app.workflow import FIRST_STATUS, STATUSES, Kind, Reason, Review, Status, Workflow
from tests.core.workflow_world import PR, finished_job, make_project, make_workflow, running
from tests.strategies import HOUR, NOW

PLACE = Place(project=make_project(1, repo="shop"), clone="/real/p1")
OK, DEAD, CANCELLED = JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED
Row = tuple[Kind, Status, JobKind | None, Json, Status]

DEVELOPMENT = Kind.DEVELOPMENT
TABLE: list[Row] = [
    (DEVELOPMENT, Status.IMPLEMENTING, JobKind.IMPLEMENT, {"pr_url": PR}, Status.REVIEWING),
    (DEVELOPMENT, Status.REVIEWING, JobKind.ADDRESS_REVIEW, {}, Status.REVIEWING),
    (DEVELOPMENT, Status.LOCAL_TESTING, JobKind.LOCAL_TEST, {}, Status.DONE),
    (DEVELOPMENT, Status.MERGED, JobKind.POST_MERGE, {}, Status.CLOSED),
    (DEVELOPMENT, Status.UAT_TESTING, JobKind.UAT_TEST, {}, Status.CLOSED),
    (Kind.PR_REVIEW, Status.REVIEWING, JobKind.PR_REVIEW, None, Status.CLOSED),
    (Kind.RUNBOOK, Status.IMPLEMENTING, JobKind.RUNBOOK, {"summary": "done"}, Status.CLOSED),
]


def ended(workflow: Workflow, job: JobReport | None, *, placeable: bool = True) -> Ended:
    assert workflow.processing
    outcome = stages.poll(workflow, job, placeable=placeable, now=NOW)
    assert isinstance(outcome, Ended)
    assert not outcome.after.processing
    return outcome


def submitted(workflow: Workflow) -> Submit:
    assert not workflow.processing
    outcome = stages.begin(workflow, PLACE)
    assert isinstance(outcome, Submit)
    return outcome


# ---------------------------------------------------------------------------- the table


@pytest.mark.parametrize(("kind", "status", "job", "result", "then"), TABLE)
def test_each_stage_submits_its_job_and_a_success_leads_on(
    kind: Kind, status: Status, job: JobKind, result: Json, then: Status
) -> None:
    waiting = make_workflow(kind=kind, status=status, review=Review.CHANGES_REQUESTED)

    submit = submitted(waiting)
    assert submit.job.kind == job
    assert submit.after == replace(waiting, processing=True, stage_attempt=1, clone_key="/real/p1")
    after = ended(submit.after, finished_job(OK, result)).after
    assert after.status is then
    assert (after.finished_at is None) is (then is Status.REVIEWING)


def test_the_table_is_whole() -> None:
    assert [(row[0], row[1], row[2]) for row in TABLE] == [
        (*key, job) for key, job in STAGES.items()
    ]


@pytest.mark.parametrize("kind", Kind)
def test_a_status_without_a_stage_has_nothing_to_submit(kind: Kind) -> None:
    for status in Status:
        outcome = stages.begin(make_workflow(kind=kind, status=status), PLACE)
        if (kind, status) not in STAGES:
            assert outcome == Nothing()
        elif (kind, status) == (DEVELOPMENT, Status.REVIEWING):
            assert outcome == Nothing(reason=Reason.REVIEW_PENDING)
        else:
            assert isinstance(outcome, Submit)


def test_each_kind_begins_in_a_stage_and_has_only_statuses_that_lead_somewhere() -> None:
    for kind in Kind:
        assert (kind, FIRST_STATUS[kind]) in STAGES
        stage_statuses = {status for each, status in STAGES if each is kind}
        assert stage_statuses <= STATUSES[kind]


def test_approved_is_local_testing_and_its_job_in_the_same_execute() -> None:
    approved = make_workflow(
        status=Status.REVIEWING, review=Review.APPROVED, stage_failures=2, run_requested=True
    )

    submit = submitted(approved)

    assert submit.job.kind == JobKind.LOCAL_TEST
    assert submit.after.status is Status.LOCAL_TESTING
    assert submit.after.stage_failures == 0
    assert not submit.after.run_requested


# ---------------------------------------------------------------------------- the job


def test_a_stage_job_is_what_its_project_and_its_workflow_say() -> None:
    project = make_project(
        1, repo="shop", local_directory="~/shop", required_capabilities=frozenset({"docker"})
    )
    defaults = JobDefaults(
        prefers_engine="claude",
        priority=Priority.HIGH,
        cost_class=CostClass.MEDIUM,
        timeout_s=60,
        attempts_max=2,
    )
    place = Place(project=replace(project, job_defaults=defaults), clone="/home/shop")
    workflow = make_workflow(
        7,
        status=Status.REVIEWING,
        review=Review.CHANGES_REQUESTED,
        review_comments=("Rename it.",),
        pr_url=PR,
        stage_attempt=4,
    )

    submit = stages.begin(workflow, place)

    assert isinstance(submit, Submit)
    job = submit.job
    assert job.job_class.required == {"docker"}
    assert job.job_class.prefers_engine == "claude"
    assert job.job_class.priority is Priority.HIGH
    assert job.job_class.cost_class is CostClass.MEDIUM
    assert job.job_class.lock == "/home/shop"
    assert (job.repo, job.timeout_s, job.attempts_max) == ("shop", 60, 2)
    assert job.dedupe_key == f"\x1fworkflow:{workflow.id}:address_review:5"
    assert job.labels == {"workflow_id": str(workflow.id), "project_id": str(project.id)}
    assert job.payload == {
        "workflow_id": str(workflow.id),
        "stage": "address_review",
        "prompt": "Address the comments of the review on the pull request.\n\nAdd a cart.",
        "repo": "shop",
        "local_directory": "~/shop",
        "pr_url": PR,
        "review_comments": ["Rename it."],
    }


def test_an_implement_job_carries_the_prompt_as_it_is_or_the_title_for_want_of_one() -> None:
    place = Place(project=make_project(local_directory=None), clone="project:1")
    outcomes = [stages.begin(make_workflow(prompt=each), place) for each in ("Add a cart.", "")]

    payloads = [each.job.payload for each in outcomes if isinstance(each, Submit)]
    assert [each["prompt"] for each in payloads] == ["Add a cart.", "workflow 1"]
    assert set(payloads[0]) == {"workflow_id", "stage", "prompt", "repo"}


def test_all_stage_jobs_carry_the_clone_as_their_lock_except_uat_test() -> None:
    for kind, status in STAGES:
        job = submitted(
            make_workflow(kind=kind, status=status, review=Review.CHANGES_REQUESTED)
        ).job
        assert job.job_class.lock == (None if job.kind == JobKind.UAT_TEST else "/real/p1")


# ---------------------------------------------------------------------------- polling


def test_an_unfinished_job_is_still_running() -> None:
    for state in (JobState.READY, JobState.LEASED, JobState.HELD, JobState.SCHEDULED):
        outcome = stages.poll(running(), JobReport(state=state), placeable=True, now=NOW)
        assert outcome == Running()


def test_implement_saves_the_pull_request_and_waits_for_a_review_of_it() -> None:
    reviewed_before = running(review=Review.APPROVED, review_at=NOW, review_comments=("Good.",))

    after = ended(reviewed_before, finished_job(OK, {"pr_url": "  branch-1 "})).after

    assert (after.status, after.pr_url) == (Status.REVIEWING, "branch-1")
    assert (after.review, after.review_at, after.review_comments) == (Review.PENDING, None, ())


@pytest.mark.parametrize("result", [None, {}, {"pr_url": " "}, {"pr_url": 7}, [], "text", True])
def test_implement_without_a_pull_request_fails_that_run(result: Json) -> None:
    outcome = ended(running(), finished_job(OK, result))

    assert outcome.ending.end is End.MALFORMED
    assert outcome.after.status is Status.IMPLEMENTING
    assert outcome.after.stage_failures == 1


def test_address_review_waits_for_another_review() -> None:
    changed = running(
        status=Status.REVIEWING,
        review=Review.CHANGES_REQUESTED,
        review_at=NOW - HOUR,
        review_comments=("Rename it.",),
        stage_failures=2,
    )

    after = ended(changed, finished_job(OK, {}, NOW)).after

    assert (after.review, after.review_at, after.review_comments) == (Review.PENDING, NOW, ())
    assert after.stage_failures == 0
    newer = replace(changed, review=Review.APPROVED, review_at=NOW + timedelta(seconds=1))
    assert ended(newer, finished_job(OK, {}, NOW)).after.review is Review.APPROVED
    late = replace(changed, review=Review.APPROVED, review_at=NOW)
    assert ended(late, finished_job(OK, {}, NOW)).after.review is Review.PENDING
    taken_over = replace(changed, review_at=None)
    assert ended(taken_over, finished_job(OK, {}, NOW)).after.review is Review.PENDING


def test_done_is_final_unless_it_tracks_the_merge_of_its_pull_request() -> None:
    testing = running(status=Status.LOCAL_TESTING, pr_url=PR)

    assert ended(testing, finished_job(OK, {}, NOW)).after.finished_at == NOW
    tracking = replace(testing, tracks_after_merge=True)
    assert ended(tracking, finished_job(OK, {}, NOW)).after.finished_at is None


def test_post_merge_leads_to_uat_at_its_own_time_else_the_results_else_now() -> None:
    merged = running(status=Status.MERGED, has_uat=True, uat_test_at=NOW + HOUR)
    brought: Json = {"uat_test_at": "2026-03-02T12:00:00Z"}

    def then(workflow: Workflow, result: Json) -> Workflow:
        return ended(workflow, finished_job(OK, result, NOW)).after

    assert then(merged, brought).status is Status.UAT_WAITING
    assert then(merged, brought).uat_test_at == NOW + HOUR
    assert then(replace(merged, uat_test_at=None), brought).uat_test_at == NOW + 24 * HOUR
    assert then(replace(merged, uat_test_at=None), None).uat_test_at == NOW
    assert then(replace(merged, has_uat=False), brought).status is Status.CLOSED


@pytest.mark.parametrize("time", ["tomorrow", "2026-03-02T12:00:00", 7, {}])
def test_post_merge_with_a_time_that_is_none_fails_that_run(time: Json) -> None:
    merged = running(status=Status.MERGED, has_uat=True)

    outcome = ended(merged, finished_job(OK, {"uat_test_at": time}))

    assert outcome.ending.end is End.MALFORMED
    assert outcome.after.status is Status.MERGED


def test_a_failed_uat_stays_uat_testing() -> None:
    after = ended(running(status=Status.UAT_TESTING), finished_job(DEAD)).after

    assert (after.status, after.stage_failures) == (Status.UAT_TESTING, 1)


# ---------------------------------------------------------------------------- failures


def test_repeated_failures_of_one_stage_need_a_human_and_leave_the_status() -> None:
    workflow = running()
    for failures in range(1, FAILURES_MAX + 1):
        workflow = replace(ended(workflow, finished_job(DEAD)).after, processing=True)
        assert workflow.stage_failures == failures
        assert (workflow.needs_human_reason is None) is (failures < FAILURES_MAX)

    assert workflow.needs_human_reason == "implement failed 3 times, at last with: it broke"
    assert workflow.status is Status.IMPLEMENTING


def test_a_stage_change_resets_the_failures_but_never_the_attempts() -> None:
    after = ended(
        running(stage_failures=2, stage_attempt=5), finished_job(OK, {"pr_url": PR})
    ).after

    assert (after.stage_failures, after.stage_attempt) == (0, 5)


def test_a_failure_without_a_word_and_a_job_that_is_gone_are_failures_too() -> None:
    silent = ended(running(), JobReport(state=DEAD))
    gone = ended(running(), None)

    assert (silent.ending.why, silent.ending.at) == ("no error was reported", NOW)
    assert gone.ending.why == "its job does not exist any more"
    assert gone.after.stage_failures == 1


def test_a_stage_job_cancelled_by_hand_needs_a_human_and_says_who() -> None:
    by_ann = ended(running(), JobReport(state=CANCELLED, cancelled_by="ann"))
    by_nobody = ended(running(), JobReport(state=CANCELLED))

    assert by_ann.after.needs_human_reason == "implement: its job was cancelled by ann"
    assert by_ann.after.stage_failures == 0
    assert by_nobody.after.needs_human_reason == "implement: its job was cancelled by somebody"


def test_a_job_nobody_can_take_is_withdrawn_while_unleased_and_that_is_no_failure() -> None:
    waits, works = JobReport(state=JobState.READY), JobReport(state=JobState.LEASED, at_work=True)

    outcome = ended(running(stage_attempt=3), waits, placeable=False)

    assert outcome.ending.end is End.WITHDRAWN
    assert outcome.after == make_workflow(stage_attempt=3)
    assert stages.poll(running(), works, placeable=False, now=NOW) == Running()


def test_the_wish_to_run_a_runbook_survives_its_withdrawal() -> None:
    book = submitted(make_workflow(kind=Kind.RUNBOOK, run_requested=True)).after
    assert not book.run_requested

    waits = JobReport(state=JobState.READY)
    assert ended(book, waits, placeable=False).after.run_requested


@pytest.mark.parametrize("state", [OK, DEAD, CANCELLED])
def test_what_the_job_of_a_cancelled_workflow_brings_is_ignored(state: JobState) -> None:
    cancelled = workflow_calls.cancel(running(), job_unfinished=True, now=NOW)

    assert cancelled.processing
    after = ended(cancelled, finished_job(state, {"pr_url": PR})).after
    assert after == replace(cancelled, processing=False)
