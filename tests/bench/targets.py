"""The targets: ratios of figures taken in one run, and whether each is met."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tests.bench.figures import Figure

Figures: TypeAlias = Mapping[str, Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on something computed from figures.

    ``detail`` is what a reader may want beside it: the same against another floor.
    """

    what: str
    needs: tuple[str, ...]
    value: Callable[[Figures], float]
    bound: float
    at_most: bool = True
    detail: Callable[[Figures], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A target, beside what was measured."""

    what: str
    target: str
    value: float
    met: bool
    detail: str


def verdicts(figures: Figures) -> list[Verdict]:
    """Judge every target whose figures were taken."""
    return [_judge(each, figures) for each in TARGETS if figures.keys() >= set(each.needs)]


def _judge(target: Target, figures: Figures) -> Verdict:
    value = target.value(figures)
    met = value <= target.bound if target.at_most else value >= target.bound
    return Verdict(
        what=target.what,
        target=f"{'≤' if target.at_most else '≥'} {target.bound:g}",
        value=value,
        met=met,
        detail=target.detail(figures) if target.detail else "",
    )


def _share(ours: str, floor: str) -> Callable[[Figures], float]:
    return lambda figures: figures[ours].value / figures[floor].value


def _beside(label: str, ours: str, other: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures[ours].value / figures[other].value:.2f} times {label}"


def _tail(figures: Figures) -> float:
    return figures["one"].late_ms / figures["one"].median_ms


def _tails(figures: Figures) -> str:
    claims, completions = figures["one_claim"], figures["one_complete"]
    return (
        f"claims {claims.late_ms / claims.median_ms:.2f},"
        f" completions {completions.late_ms / completions.median_ms:.2f}"
    )


def _lone(swap: str) -> Callable[[Figures], float]:
    return lambda figures: (
        figures["lone"].median_ms / (figures["noop_1"].median_ms + 4 * figures[swap].median_ms)
    )


def _depth(key: str) -> Callable[[Figures], float]:
    return lambda figures: figures[key].median_ms / figures["depth_shallow"].median_ms


def _explained(key: str, what: str) -> Target:
    return Target(
        what=f"explain {what}: p50 in ms",
        needs=(key,),
        value=lambda figures: figures[key].median_ms,
        bound=300,
        detail=lambda figures: f"p99 {figures[key].late_ms:.0f}",
    )


_EXPLAINED = tuple(
    _explained(f"explain_{where}{key}", f"{key.replace('_', ' ')}{what}")
    for where, what in (("", ", a million ready"), ("locks_", ", 10,000 lock classes"))
    for key in ("factory", "job", "pair", "what_if")
)

TARGETS = (
    Target(
        what="one at a time: requests/s ÷ no-op requests/s",
        needs=("one", "noop_32"),
        value=_share("one", "noop_32"),
        bound=0.9,
        at_most=False,
    ),
    Target(
        what="one at a time: p99 ÷ p50",
        needs=("one", "one_claim", "one_complete"),
        value=_tail,
        bound=4,
        detail=_tails,
    ),
    Target(
        what="finish-and-take-next: jobs/s ÷ no-op requests/s",
        needs=("next", "noop_32"),
        value=_share("next", "noop_32"),
        bound=0.6,
        at_most=False,
    ),
    Target(
        what="batches of 50: jobs/s ÷ pgbench's pairs/s, bare table",
        needs=("batch", "pair_32_bare", "pair_32_real"),
        value=_share("batch", "pair_32_bare"),
        bound=2,
        at_most=False,
        detail=_beside("pairs on the job table", "batch", "pair_32_real"),
    ),
    Target(
        what="a lone claim: p50 ÷ (no-op p50 + 4 swap p50, bare table)",
        needs=("lone", "noop_1", "swap_1_bare", "swap_1_real"),
        value=_lone("swap_1_bare"),
        bound=1,
        detail=lambda figures: f"{_lone('swap_1_real')(figures):.2f} with the job table's swap",
    ),
    Target(
        what="depth: p50 at a million ready ÷ at a thousand",
        needs=("depth_deep", "depth_shallow"),
        value=_depth("depth_deep"),
        bound=1.2,
    ),
    Target(
        what="depth: p50 at 400 classes ÷ at 40",
        needs=("depth_classes", "depth_shallow"),
        value=_depth("depth_classes"),
        bound=3,
    ),
    Target(
        what="depth: p50 with 10,000 lock classes, half held ÷ at 40 without",
        needs=("depth_locks", "depth_shallow"),
        value=_depth("depth_locks"),
        bound=10,
    ),
    Target(
        what="depth: p50 with all but a thousand of a million not eligible ÷ at a thousand",
        needs=("depth_ineligible", "depth_shallow"),
        value=_depth("depth_ineligible"),
        bound=1.2,
    ),
    Target(
        what="wake-up of 32: p99 from submit to claim ÷ p50 of a lone claim",
        needs=("wake", "lone"),
        value=lambda figures: figures["wake"].late_ms / figures["lone"].median_ms,
        bound=4,
    ),
    Target(
        what="10,000 waiting: claim statements/s (the slow poll, and no others)",
        needs=("waiting_statements",),
        value=lambda figures: figures["waiting_statements"].value,
        # None for those who wait; the slow poll reads once every 10 s, whoever waits.
        bound=0.5,
    ),
    Target(
        what="10,000 waiting: share of a core",
        needs=("waiting_cpu",),
        value=lambda figures: figures["waiting_cpu"].value,
        bound=0.05,
    ),
    Target(
        what="10,000 waiting: MB more than at rest",
        needs=("waiting_memory",),
        value=lambda figures: figures["waiting_memory"].value,
        bound=300,
    ),
    *_EXPLAINED,
    Target(
        what="claims/s while one asks for explanations without a pause ÷ while nobody asks",
        needs=("explain_asking", "explain_without"),
        # Explanations take processor time that claims cannot have; of what both share they are let
        # have half, and on two cores hardly need it. A fifth is far more than any client's share.
        value=_share("explain_asking", "explain_without"),
        bound=0.8,
        at_most=False,
        detail=lambda figures: (
            f"p50 {figures['explain_asking'].median_ms / figures['explain_without'].median_ms:.2f},"
            f" p99 {figures['explain_asking'].late_ms / figures['explain_without'].late_ms:.2f}"
            " times as long"
        ),
    ),
    Target(
        what="bulk submit: jobs/s ÷ COPY's rows/s, 1 connection each",
        needs=("bulk", "bulk_wide", "copy"),
        value=_share("bulk", "copy"),
        bound=0.5,
        at_most=False,
        detail=lambda figures: (
            f"{figures['bulk_wide'].value / figures['copy'].value:.2f} with 4 connections"
        ),
    ),
    Target(
        what="pruning: p99 of a claim meanwhile ÷ without, 32 connections",
        needs=("retention_quiet", "retention_busy"),
        value=lambda figures: (
            figures["retention_busy"].late_ms / figures["retention_quiet"].late_ms
        ),
        bound=1.5,
        detail=_beside("as many claims/s", "retention_busy", "retention_quiet"),
    ),
    Target(
        what="churn: jobs/s in batches of 50 on a worn table ÷ on a fresh one",
        needs=("churn_old", "churn_young"),
        value=_share("churn_old", "churn_young"),
        bound=0.9,
        at_most=False,
    ),
    Target(
        what="churn: p50 of a lone claim on a worn table ÷ on a fresh one",
        needs=("churn_old_lone", "churn_young_lone"),
        value=lambda figures: (
            figures["churn_old_lone"].median_ms / figures["churn_young_lone"].median_ms
        ),
        bound=1.1,
    ),
)
