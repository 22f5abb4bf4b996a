"""Numbers for Prometheus: counted here, in a registry of the application's own.

Every label has few values whatever callers send: the route's template (or ``unmatched``), one of
the usual methods (or ``other``), and the status.
"""

from collections.abc import Mapping
from datetime import datetime

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from app.coordinator.pending import PendingCounts
from app.coordinator.waiting import Answer, Nothing
from app.fleet import JsonObject

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
UNMATCHED = "unmatched"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """What one process counts."""

    def __init__(self) -> None:
        """Start at zero, with a registry that nothing else writes to."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "fleet_http_requests",
            "Answers, by route template, method and status.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "fleet_http_request_seconds",
            "Time from the request to the end of its answer, waits included.",
            ["route", "method"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.claims = Counter(
            "fleet_claims",
            "Claims, by what came of them.",
            ["outcome"],
            registry=self.registry,
        )
        self.claimed_jobs = Counter(
            "fleet_claimed_jobs", "Jobs that were handed out.", registry=self.registry
        )
        self.nothing = Counter(
            "fleet_claim_refusals",
            "Why empty claims were empty: jobs refused, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.waiting = Gauge(
            "fleet_claims_waiting", "Factories that wait for a job now.", registry=self.registry
        )
        self.leases = Counter(
            "fleet_leases",
            "Leases, by how they went on: renewed, settled, expired and so on.",
            ["outcome"],
            registry=self.registry,
        )
        self._count_ticks()
        self._count_what_waits()
        self._series: dict[tuple[str | None, str, int], tuple[Counter, Histogram]] = {}
        self._outcomes: dict[str, Counter] = {}
        self._leased = self.claims.labels("leased")
        self._nothing = self.claims.labels("nothing")

    def _count_what_waits(self) -> None:
        self.backlog = PendingCounts()
        self.pending = Gauge(
            "fleet_jobs_pending",
            "Unfinished jobs that nobody has, by what is in the way first; up to 1,000 a class.",
            ["reason"],
            registry=self.registry,
        )

    def observe(self, *, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count one answer."""
        if method not in METHODS or route is None:
            method = OTHER
        # Finding a series by its labels is dear, and there are few.
        series = self._series.get((route, method, status))
        if series is None:
            labels = (route or UNMATCHED, method)
            series = (self.requests.labels(*labels, str(status)), self.seconds.labels(*labels))
            self._series[route, method, status] = series
        requests, took = series
        requests.inc()
        took.observe(seconds)

    def lease(self, outcome: str, count: int = 1) -> None:
        """Count how leases went on."""
        counter = self._outcomes.get(outcome)
        if counter is None:
            counter = self._outcomes[outcome] = self.leases.labels(outcome)
        counter.inc(count)

    def claimed(self, answer: Answer) -> None:
        """Count what came of a claim."""
        if isinstance(answer, Nothing):
            self._nothing.inc()
            for reason, count in answer.reasons.items():
                self.nothing.labels(reason.value).inc(count)
        else:
            self._leased.inc()
            self.claimed_jobs.inc(len(answer))

    def swept(self, counts: Mapping[str, int]) -> None:
        """Count what a pass over leases did that was not skipped."""
        self.last_success.labels("leases").set_to_current_time()
        for outcome, count in counts.items():
            if count:
                self.lease(outcome, count)

    def ticked(self, newest: Mapping[str, datetime]) -> None:
        """Show when ticks last did their work, in any process, before its restart too."""
        for kind, at in newest.items():
            self.last_success.labels(kind).set(at.timestamp())

    def _count_ticks(self) -> None:
        """Start what is counted of ticks, repos and their forge."""
        self.last_success = Gauge(
            "fleet_tick_last_success",
            "When a tick last did its work, in seconds since 1970; skipped ones do not count."
            " Of workflows and repos in any process, of leases in this one.",
            ["tick"],
            registry=self.registry,
        )
        for tick in ("leases", "workflows", "repos"):
            self.last_success.labels(tick)  # there from the start: 0 if there was none yet
        self.dispatched = Counter(
            "fleet_repo_dispatches",
            "What the tick over repos dispatched, by feature.",
            ["feature"],
            registry=self.registry,
        )
        self.repo_errors = Counter(
            "fleet_repo_errors",
            "What went wrong with single repos in ticks, silence of the forge included.",
            registry=self.registry,
        )
        self.deliveries = Counter(
            "fleet_webhook_deliveries",
            "What the forge delivered, by what came of it.",
            ["outcome"],
            registry=self.registry,
        )

    def repos_ticked(self, report: JsonObject) -> None:
        """Count what a tick over repos dispatched, and what went wrong."""
        repos, errors = report["repos"], report["errors"]
        for each in repos if isinstance(repos, list) else ():
            feature = each.get("dispatched") if isinstance(each, dict) else None
            if feature is not None:
                self.dispatched.labels(str(feature)).inc()
        self.repo_errors.inc(len(errors) if isinstance(errors, list) else 0)

    def waits(self, counts: Mapping[str, int]) -> None:
        """Show what waits, and for what."""
        for reason, count in counts.items():
            self.pending.labels(reason).set(count)

    def text(self) -> bytes:
        """Write all numbers in the format of Prometheus."""
        return generate_latest(self.registry)
