from datetime import timedelta

from app.runtime.clock import monotonic_s, now_utc
from app.runtime.ids import TOKEN_PREFIX, chance, new_id, new_token, token_hash


def test_ids_are_uuid7_and_sorted_by_when_they_were_made() -> None:
    ids = [new_id() for _ in range(1000)]
    assert {each.version for each in ids} == {7}
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_tokens_are_long_prefixed_and_never_the_same() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(each.startswith(TOKEN_PREFIX) and len(each) == 49 for each in tokens)


def test_a_token_has_one_hash() -> None:
    assert token_hash("fleet_a") == token_hash("fleet_a")
    assert token_hash("fleet_a") != token_hash("fleet_b")
    assert len(token_hash("fleet_a")) == 32


def test_chance_stays_in_its_range() -> None:
    assert all(0 <= chance() < 1 for _ in range(100))


def test_the_clock_is_aware_and_waits_never_go_back() -> None:
    assert now_utc().utcoffset() == timedelta(0)
    assert monotonic_s() <= monotonic_s()
