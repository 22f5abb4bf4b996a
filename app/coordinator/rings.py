"""Rings: jobs that would wait for each other for ever."""

from collections.abc import Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def find_ring(parents: Mapping[Node, Iterable[Node]]) -> list[Node] | None:
    """Return one ring of a graph, its first member again at the end; None if there is none.

    Each waits for the next. A node that is no key of ``parents`` waits for nobody.
    """
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        return [*reversed(error.args[1])]
    return None


def parents_first(parents: Mapping[Node, Iterable[Node]]) -> list[Node]:
    """Return the nodes of a graph without a ring, each after those it waits for."""
    return [*TopologicalSorter(parents).static_order()]
