"""Slot and clone bookkeeping."""

from hypothesis import given
from hypothesis import strategies as st

from app.capacity import Capacity
from app.workflow import Reason

clones = st.sampled_from(("/a", "/b", "/c"))


def test_can_start_iff_the_active_count_is_below_the_maximum_and_the_clone_is_not_busy() -> None:
    capacity = Capacity(busy_clones=["/a"], max_agents=2)

    assert capacity.can_start("/b")
    assert capacity.refusal("/a") is Reason.CLONE_BUSY
    assert capacity.started("/b").refusal("/c") is Reason.NO_SLOT


def test_the_initial_list_is_copied_not_mutated() -> None:
    busy = ["/a"]
    capacity = Capacity(busy_clones=busy, max_agents=3)
    after = capacity.started("/b")
    busy.append("/c")

    assert busy == ["/a", "/c"]
    assert capacity.can_start("/c")
    assert capacity.can_start("/b")
    assert (capacity.active_count, after.active_count) == (1, 2)


def test_duplicates_are_kept_for_each_is_an_agent() -> None:
    capacity = Capacity(busy_clones=["/a", "/a"], max_agents=2)

    assert capacity.active_count == 2
    assert capacity.refusal("/b") is Reason.NO_SLOT


def test_free_slots_are_never_negative_though_the_limit_may_shrink() -> None:
    assert Capacity(busy_clones=["/a", "/b"], max_agents=1).free_slots == 0
    assert Capacity(busy_clones=["/a"], max_agents=3).free_slots == 2


@given(st.lists(clones, max_size=4), st.integers(1, 4), st.lists(clones, max_size=8))
def test_whoever_starts_only_when_it_can_never_exceeds_the_maximum_nor_shares_a_clone(
    busy: list[str], max_agents: int, wishes: list[str]
) -> None:
    capacity = Capacity(busy_clones=busy, max_agents=max_agents)
    for clone in wishes:
        if capacity.can_start(clone):
            capacity = capacity.started(clone)

    started = list(capacity.busy_clones)[len(busy) :]
    assert capacity.active_count <= max(max_agents, len(busy))
    assert len(set(started)) == len(started)
    assert not set(started) & set(busy)
