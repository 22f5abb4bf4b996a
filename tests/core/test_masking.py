"""Secrets are masked wherever they stand, and nothing else is."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.masking import mask

SHAPES = {
    "fleet_***": r"fleet_[A-Za-z0-9_-]{20,60}",
    "ghp_***": r"ghp_[A-Za-z0-9]{36}",
    "ghs_***": r"ghs_[A-Za-z0-9]{36,60}",
    "github_pat_***": r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    "glpat-***": r"glpat-[A-Za-z0-9_-]{20}",
    "sk-***": r"sk-(ant-api03-|proj-)?[A-Za-z0-9]{48}",
    "sk_live_***": r"sk_live_[A-Za-z0-9]{24}",
    "xoxb-***": r"xoxb-[0-9]{11}-[0-9]{11}-[A-Za-z0-9]{24}",
    "AKIA***": r"AKIA[A-Z0-9]{16}",
    "AIza***": r"AIza[A-Za-z0-9_-]{35}",
    "npm_***": r"npm_[A-Za-z0-9]{36}",
    "hf_***": r"hf_[A-Za-z0-9]{34}",
    "pypi-***": r"pypi-[A-Za-z0-9_-]{60}",
    "eyJ***": r"eyJ[A-Za-z0-9_-]{20}\.[A-Za-z0-9_-]{40}\.[A-Za-z0-9_-]{43}",
    "Bearer ***": r"Bearer [A-Za-z0-9]{8,20}[0-9]",
    "authorization: Basic ***": r"authorization: Basic [A-Za-z0-9+/]{12}==",
}

ENDS = st.sampled_from(["", " ", "\n", "'", '"', ", next", ")", "\u2028", ": it failed"])
PIECES = st.sampled_from(
    [
        *(
            "fleet_",
            "ghp_",
            "sk-",
            "eyJ",
            "://",
            ":",
            "@",
            "Bearer ",
            "authorization: Basic ",
            "***",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 20, "7" * 30, ".", " "),
        *('"', "***"),
    ]
)


@pytest.mark.parametrize("masked", SHAPES)
def test_a_secret_is_masked_wherever_it_stands(masked: str) -> None:
    shape = SHAPES[masked]

    @given(st.text(), st.from_regex(shape, fullmatch=True), ENDS)
    def holds(before: str, secret: str, after: str) -> None:
        said = mask(f"{before} {secret}{after}")
        assert secret not in said
        assert masked in said

    holds()


@given(st.text(), st.from_regex(SHAPES["fleet_***"], fullmatch=True), st.text())
def test_a_token_of_ours_is_masked_even_inside_a_word(before: str, token: str, after: str) -> None:
    assert token not in mask(f"{before}{token}{after}")


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_masking_again_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


@given(st.lists(st.from_regex(r"[a-z]{1,15}", fullmatch=True)).map(" ".join))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "exit code 3: 3 of 120 tests failed, see https://ci.example/runs/12",
        "Bearer token is missing",
        "bearer authentication failed",
        "Basic authentication is not supported",
        "the branch task-branch-of-a-long-name-that-goes-on is gone",
        "no module named disk-usage-report-for-humans",
        "ghp_ and sk- and fleet_ are prefixes; fleet_coordinator_app is none",
        "at 2026-03-01T09:30:00Z in eyJson.parse.things",
        "git@github.example:acme/web.git",
    ],
)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert mask(text) == text


def test_the_password_of_an_address_goes_and_the_rest_stays() -> None:
    assert mask("at postgresql://me:hu@sh@db/fleet?x=1") == "at postgresql://me:***@db/fleet?x=1"
    assert mask('{"a":"http://h:1","b":"x@y"}') == '{"a":"http://h:1","b":"x@y"}'


def test_a_private_key_goes_whole() -> None:
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    assert mask(f"a\n{begin}\nMII\nabc\n{end}\nb") == f"a\n{begin}***{end}\nb"
    assert mask(f"{begin}\nMII") == f"{begin}***"
    assert mask(f'{{"a":"{begin}MII","b":1}}') == f'{{"a":"{begin}***","b":1}}'


@pytest.mark.parametrize(
    "piece",
    [
        *("eyJ-", "eyJaaaaaaaa.", "bearer ", "bearer\t\t\t\t\t\t\t", "://", "://a:", "sk-", "a"),
        *("authorization:", "-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----"),
    ],
)
def test_no_text_is_dear(piece: str) -> None:
    text = "://eyJ" + piece * (65_536 // len(piece))
    began = time.perf_counter()
    mask(text)
    # A tenth of a second is usual on a busy machine; what grows with the square takes minutes.
    assert time.perf_counter() - began < 5
