"""What a process remembers of classes: no more than there are, by and by."""

from app.coordinator.catalog import Catalog
from app.fleet import ClassId
from app.store.claims import NewClasses
from tests.strategies import make_class, make_factory


def some_locks(first: int, last: int, since: int | None = None) -> NewClasses:
    classes = {ClassId(n): make_class(lock=f"pr-{n}") for n in range(first, last)}
    return NewClasses(classes=classes, since=first if since is None else since, horizon=last)


def test_classes_that_were_pruned_are_forgotten_once_they_are_many() -> None:
    catalog = Catalog()
    catalog.learn(some_locks(1, 3, since=0))
    catalog.learn(some_locks(3, 500))
    assert len(catalog.classes) == 499
    assert catalog.horizon == 500
    catalog.learn(some_locks(500, 2_000))
    assert catalog.horizon == 0  # everything is read anew
    catalog.learn(some_locks(1_990, 2_000, since=0))
    assert sorted(catalog.classes) == list(range(1_990, 2_000))
    assert catalog.with_lock("pr-1") == []
    assert [each.lock for each in catalog.with_lock("pr-1995")] == ["pr-1995"]
    assert len(catalog.needed([make_factory("f1")])) == 1
    assert catalog.horizon == 2_000


def test_an_answer_that_was_asked_before_all_is_read_anew_does_not_pass_for_all() -> None:
    catalog = Catalog()
    catalog.learn(some_locks(1, 500, since=0))
    catalog.learn(some_locks(500, 3_000))
    assert catalog.horizon == 0
    late = some_locks(3_000, 3_010, since=500)
    catalog.learn(late)
    assert catalog.horizon == 0
    assert len(catalog.classes) == 3_009
    catalog.learn(some_locks(2_990, 3_020, since=0))
    catalog.learn(late)
    assert catalog.horizon == 3_010  # what was made since is read once more, and not missed
    assert sorted(catalog.classes) == list(range(2_990, 3_020))
