"""What a process remembers of classes: each by its last ids, however often it was made."""

from app.coordinator.catalog import Catalog
from app.fleet import ClassId, JobClass
from app.store.claims import NewClasses
from tests.strategies import make_class

MERGE, OTHER = make_class(lock="merge"), make_class(lock="other")


def made(*classes: tuple[int, JobClass]) -> NewClasses:
    return NewClasses(classes={ClassId(number): each for number, each in classes}, horizon=1)


def test_a_class_that_is_made_again_and_again_is_not_looked_for_more_and_more() -> None:
    catalog = Catalog()
    catalog.learn(made((1, MERGE), (2, OTHER)))
    for number in range(3, 100):
        catalog.learn(made((number, MERGE)))
    assert catalog.classes == {2: OTHER, 98: MERGE, 99: MERGE}
    assert catalog.with_lock("merge") == [MERGE]
    assert sorted(each for shape in catalog.shapes() for each in shape.class_ids) == [2, 98, 99]


def test_who_drew_his_number_first_may_come_last() -> None:
    """The class of number 4 was pruned before the one of number 3 was made."""
    catalog = Catalog()
    catalog.learn(made((1, MERGE)))
    catalog.learn(made((4, MERGE)))
    catalog.learn(made((3, MERGE)))
    assert catalog.classes == {3: MERGE, 4: MERGE}


def test_an_old_reading_that_arrives_late_undoes_nothing() -> None:
    catalog = Catalog()
    catalog.learn(made((8, MERGE)))
    catalog.learn(made((9, MERGE)))
    catalog.learn(made((1, MERGE)))
    assert catalog.classes == {8: MERGE, 9: MERGE}
    assert catalog.shapes() == catalog.shapes()
