"""The plans of the lease statements: no table of a large fleet is read from end to end."""

from datetime import timedelta
from typing import Any

import pytest

from app.store.sql import sql
from tests.support.crowd import Crowd
from tests.support.plans import scanned_whole

_STATEMENTS: dict[str, tuple[Any, ...]] = {
    "finish_complete": ([], [], [], [], "fleet_wake", "lock:", "seat:", True),
    "seat_await": ([],),
    "lease_renew": ([], [], [], []),
    "lease_write": ([],),
    "lease_due": (200, []),
    "lease_rewake": ([], [], []),
    "lease_receipt": ([], []),
    "lease_postpone": ("00000000-0000-0000-0000-000000000001", 600),
    "dependant_lock": ([],),
    "dependant_count": ([], []),
    "exclusion_classes": (),
    "exclusion_drop": (1, 2, 500),
    "prune_jobs": (timedelta(days=30), 500),
    "prune_classes": ([],),
    "prune_claim_keys": (500,),
    "prune_stray_classes": (0.5, 500),
    "lock_make": (["a"],),
    "lock_idle": (["a"],),
    "lock_stray": (0.5, 500),
    "prune_locks": (["a"],),
    "heartbeat_drain": (["f1"],),
}


@pytest.mark.parametrize("name", _STATEMENTS)
def test_no_table_is_read_whole(crowd: Crowd, name: str) -> None:
    assert scanned_whole(crowd.plan(sql(name), *_STATEMENTS[name])) == set()
