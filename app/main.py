"""The composition root: settings → database, desk, loops → the application that serves them.

Everything long-lived of a serving process is made here, in the order of need, and ended in the
reverse order. Nothing is made at import.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from logging import getLogger

from fastapi import FastAPI

from app.api.application import application
from app.api.deps import Services
from app.api.metrics import Metrics
from app.coordinator.board import Rules
from app.coordinator.desk import ClaimDesk
from app.coordinator.expire import LeaseReport, sweep
from app.coordinator.explain_workflows import WorkflowsExplained, explain_workflows
from app.coordinator.forge_port import Forge
from app.coordinator.hear import Delivery, Heard, hear
from app.coordinator.pulse import FLUSH_S, PulseBook
from app.coordinator.reports import Reports
from app.coordinator.tick_repos import tick_repos
from app.coordinator.tick_workflows import tick_workflows
from app.coordinator.ticking import Occasion, Ticked
from app.coordinator.tokens import Doorman
from app.coordinator.turnstile import REHEARSALS_AT_ONCE, Turnstile
from app.forge.github import GitHub
from app.forge.github_api import AppKey
from app.loops.every import Every
from app.runtime.clock import now_utc
from app.runtime.ids import chance, new_id
from app.runtime.settings import Settings
from app.store.listener import Listener
from app.store.session import Database, Limits
from app.workflow import WorkflowId

_LOG = getLogger(__name__)

_RESTART_AFTER_S = 1.0
_YOUNG_MAX = 20_000

_HOT_SHARE = 3
"""Claims and reports have a third of the connections for themselves: they need few, always."""


def create_app(settings: Settings) -> FastAPI:
    """Make the application that serves one database.

    Raises:
        ValueError: the settings name no database.
    """
    url = settings.database_url
    if url is None:
        message = "no database to serve: set FLEET_DATABASE_URL, or use `fleet up`"
        raise ValueError(message)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            db, hot = [await Database.open(url, limits) for limits in _limits(settings)]
            stack.push_async_callback(db.close)
            stack.push_async_callback(hot.close)
            github = _github(settings)
            if github is not None:
                stack.push_async_callback(github.close)
            services = _services(db, hot, settings, github)
            app.state.services = services
            stack.push_async_callback(services.reports.close)
            listener = Listener(url=settings.listen_url or url, heard=services.desk.heard)
            for each in (_lease_loop(services, settings), _pulse_loop(services)):
                await stack.enter_async_context(each.running())
            for name, run in (("claim desk", services.desk.run), ("ear", listener.run)):
                await stack.enter_async_context(_kept_up(name, run))
            stack.callback(services.desk.close)
            # What is alive now stays: the collector need not look at it again and again.
            gc.collect()
            gc.freeze()
            # A large request makes tens of thousands of values that all live until its answer:
            # looking through them again and again took a tenth of its time.
            gc.set_threshold(_YOUNG_MAX)
            yield

    return application(lifespan)


def stop_waiting(app: FastAPI) -> None:
    """Answer everybody who waits for a job, so that a server can end at once.

    To be called when the server is told to stop: it ends the lifespan only after the last request.
    """
    services: Services | None = getattr(app.state, "services", None)
    if services is not None:
        services.desk.close()


def _limits(settings: Settings) -> tuple[Limits, Limits]:
    """Share the connections out: for whatever is asked, and for claims and reports alone."""
    hot = max(1, settings.database_pool_size // _HOT_SHARE)
    common = Limits(
        size=settings.database_pool_size - hot,
        timeout_s=settings.database_pool_timeout_s,
        statement_timeout_s=settings.database_statement_timeout_s,
        statement_cache=settings.database_statement_cache,
    )
    return common, replace(common, size=hot, steady_plans=True)


def _services(db: Database, hot: Database, settings: Settings, forge: GitHub | None) -> Services:
    desk = ClaimDesk(db=hot, new_id=new_id, chance=chance)
    metrics = Metrics()
    metrics.waiting.set_function(lambda: len(desk.waiting()))

    async def sweep_leases() -> LeaseReport:
        report = await sweep(db, retention=timedelta(days=settings.retention_days))
        if not report.busy:
            metrics.swept(_counts(report))
        return report

    workflows = _WorkflowTicks(db=db, settings=settings, forge=forge)
    repos = _RepoTicks(db=db, settings=settings, metrics=metrics, forge=forge)
    secret = settings.github_webhook_secret
    return Services(
        db=db,
        doorman=Doorman(db),
        desk=desk,
        reports=Reports(hot, desk),
        sweep=sweep_leases,
        pulses=PulseBook(desk.waiting),
        tick_workflows=workflows.tick,
        explaining=Turnstile(),
        rehearsing=Turnstile(REHEARSALS_AT_ONCE),
        explain_workflows=workflows.explain,
        tick_repos=repos.tick,
        hear=repos.hear,
        webhook_secret=None if secret is None else secret.get_secret_value(),
        metrics=metrics,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepoTicks:
    """The tick over repos, and what the forge delivers, under this installation's settings."""

    db: Database
    settings: Settings
    metrics: Metrics
    forge: GitHub | None

    async def tick(self, occasion: Occasion) -> Ticked:
        ticked = await tick_repos(self.db, occasion, self.forge)
        if ticked.skipped is None and not occasion.dry_run:
            self.metrics.repos_ticked(ticked.report)
        return ticked

    async def hear(self, delivery: Delivery) -> Heard:
        label = self.settings.github_issue_label
        return await hear(self.db, delivery, forge=self.forge, label=label)


def _github(settings: Settings) -> GitHub | None:
    """Open GitHub as an app or with a token; without either nothing is read there."""
    way_in: str | AppKey | None = None
    if settings.github_app_id and settings.github_app_private_key:
        way_in = AppKey(
            app_id=settings.github_app_id,
            private_key=settings.github_app_private_key.get_secret_value(),
            installation_id=settings.github_app_installation_id or "",
        )
    elif settings.github_token is not None:
        way_in = settings.github_token.get_secret_value()
    if way_in is None:
        return None
    return GitHub(
        base_url=settings.github_api_url,
        way_in=way_in,
        label=settings.github_issue_label,
        now=now_utc,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkflowTicks:
    """The tick over workflows under this installation's settings."""

    db: Database
    settings: Settings
    forge: Forge | None = None

    async def tick(self, occasion: Occasion, named: WorkflowId | None) -> Ticked:
        return await tick_workflows(self.db, occasion, self._rules(named), self.forge)

    async def explain(self) -> WorkflowsExplained:
        return await explain_workflows(self.db, self._rules(None), self.forge)

    def _rules(self, named: WorkflowId | None) -> Rules:
        return Rules(max_agents=self.settings.max_concurrent_agents, named=named)


def _counts(report: LeaseReport) -> dict[str, int]:
    return {
        "expired": report.expired,
        "died": report.died,
        "timed_out": report.timed_out,
        "unblocked": report.unblocked,
        "pruned": report.pruned,
        "odd": len(report.odd),
    }


def _lease_loop(services: Services, settings: Settings) -> Every:
    async def act() -> Mapping[str, int]:
        return _counts(await services.sweep())

    return Every(name="leases", interval_s=settings.lease_loop_interval_s, act=act, chance=chance)


def _pulse_loop(services: Services) -> Every:
    async def act() -> Mapping[str, int]:
        await services.pulses.flush(services.db)
        return {}

    return Every(name="signs of life", interval_s=FLUSH_S, act=act, chance=chance)


@asynccontextmanager
async def _kept_up(name: str, run: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run something that never ends beside the block, and start it again should it fall."""

    async def forever() -> None:
        while True:
            try:
                await run()
            except Exception:  # noqa: BLE001 - whatever it was, the service goes on
                _LOG.exception("the %s fell; it is started again", name)
            await asyncio.sleep(_RESTART_AFTER_S)

    task = asyncio.create_task(forever(), name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
