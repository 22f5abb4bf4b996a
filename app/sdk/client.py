"""The client of one coordinator under one token."""

from types import TracebackType
from typing import Self

from app.sdk.explain import Explain
from app.sdk.factories import Factories
from app.sdk.jobs import Jobs
from app.sdk.leases import Leases
from app.sdk.projects import Projects
from app.sdk.repos import Repos
from app.sdk.ticks import Ticks
from app.sdk.tokens import Tokens
from app.sdk.transport import Call, Retries, Transport, open_http
from app.sdk.workflows import Workflows
from app.wire.service import Liveness, Readiness

TIMEOUT_S = 15.0


class FleetClient:
    """Every call of the coordinator, by noun; an async context manager.

    ::

        async with FleetClient("http://127.0.0.1:8420", token) as fleet:
            job = await fleet.jobs.submit(JobSubmit(kind="implement"))
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Retries | None = None,
    ) -> None:
        """Prepare; nothing is sent before the first call.

        Args:
            url: where the coordinator serves.
            token: the bearer token; only liveness and readiness go without.
            timeout_s: longest wait for one answer, beside what a call asked to wait.
            retries: how often calls that may be repeated are.

        Raises:
            ValueError: the token cannot be one.
        """
        self.url = url
        self._http = open_http(url, token)
        transport = Transport(self._http, timeout_s=timeout_s, retries=retries or Retries())
        self.transport = transport
        self.jobs = Jobs(transport)
        self.factories = Factories(transport)
        self.leases = Leases(transport)
        self.tokens = Tokens(transport)
        self.explain = Explain(transport)
        self.repos = Repos(transport)
        self.ticks = Ticks(transport)
        self.projects = Projects(transport)
        self.workflows = Workflows(transport)

    async def healthz(self) -> Liveness:
        """Ask whether the process lives."""
        call = Call(method="GET", path="/healthz", repeatable=True)
        return await self.transport.reply(call, Liveness)

    async def readyz(self) -> Readiness:
        """Ask whether it can serve; not being ready is a refusal with status 503."""
        return await self.transport.reply(Call(method="GET", path="/readyz"), Readiness)

    async def metrics(self) -> str:
        """Read the metrics in the format of Prometheus."""
        call = Call(method="GET", path="/metrics", repeatable=True)
        return (await self.transport.send(call)).text

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.__aexit__(kind, error, trace)
