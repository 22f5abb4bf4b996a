"""Problems: one table, and a page for each."""

import json

import pytest
from fastapi.exceptions import RequestValidationError

from app import errors
from app.api.problem_pages import PAGES, page_of
from app.api.problems import STATUS, field_path, kinds, of_validation, problem, status_of
from app.errors import Refusal
from app.fleet import Json


def test_every_problem_has_a_page_and_no_page_is_left_over() -> None:
    slugs = [kind.slug for kind in kinds()]
    assert len(slugs) == len(set(slugs))
    assert set(slugs) == set(PAGES)
    for slug in slugs:
        page = page_of(slug)
        assert page is not None
        assert f"/problems/{slug}" in page
    assert page_of("no-such-problem") is None


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.slug)
def test_every_problem_has_a_status_and_says_what_all_say(kind: type[Refusal]) -> None:
    response = problem(kind("What happened.", more=1))
    assert response.status_code == status_of(kind)
    assert response.headers["content-type"] == "application/problem+json"
    assert b'"more":1' in bytes(response.body)
    assert ("retry-after" in response.headers) == (response.status_code == 503)
    assert ("www-authenticate" in response.headers) == (response.status_code == 401)
    assert (b'"errors"' in bytes(response.body)) == (response.status_code == 422)


def test_the_tree_of_errors_answers_as_it_is_drawn() -> None:
    drawn = {
        errors.StaleFence: 409,
        errors.DependencyCycle: 422,
        errors.VersionMismatch: 412,
        errors.VersionRequired: 428,
        errors.Unavailable: 503,
        errors.NotFound: 404,
        errors.Forbidden: 403,
        errors.Unauthenticated: 401,
    }
    assert {kind: status_of(kind) for kind in drawn} == drawn
    assert all(issubclass(kind, Refusal) for kind in STATUS)


def test_retry_after_is_rounded_up_to_whole_seconds() -> None:
    for asked, told in ((0, "1"), (1.2, "2"), (30, "30")):
        assert problem(errors.Unavailable("x", retry_after_s=asked)).headers["retry-after"] == told
    assert problem(errors.Unavailable("x")).headers["retry-after"] == "2"


def test_a_token_in_a_refusal_is_masked() -> None:
    token = "fleet_" + "A" * 22 + "_" + "B" * 43
    odd: list[Json] = [{"field": token, token: [token, 1, None]}, {"field": "a://b", "x": "c@d"}]
    body = json.loads(bytes(problem(errors.Invalid(f"what is {token}?", errors=odd)).body))
    assert token not in json.dumps(body)
    assert body["errors"][1] == odd[1]


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (("body",), "body"),
        (("body", "payload", "a", 3), "payload.a[3]"),
        (("body", "labels", "x", "[key]"), "labels.x"),
        (("body", 0), "[0]"),
        (("query", "limit"), "limit"),
        (("path", "job_id"), "job_id"),
        (("header", "Prefer"), "Prefer"),
        (("body", "a\nb"), "a\\nb"),
    ],
)
def test_places_are_written_as_people_do(location: tuple[str | int, ...], path: str) -> None:
    assert field_path(location) == path


def test_the_same_fault_is_told_once() -> None:
    fault = {"loc": ("body", "a"), "msg": "Value error, is odd", "type": "x"}
    refusal = of_validation(RequestValidationError([fault, fault]))
    assert refusal.extensions["errors"] == [{"field": "a", "message": "is odd"}]
