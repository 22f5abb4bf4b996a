"""The Python client of the fleet coordinator: httpx, pydantic, and the bodies of ``app.wire``.

::

    async with FleetClient(url, token) as fleet:
        async with FactoryLoop(fleet, "f1", FactoryPut(engines=["devin"]), handle) as loop:
            await loop.run(stop)
"""

from app.sdk.client import FleetClient
from app.sdk.errors import FleetError, NotAFleet, Problem, Unreachable
from app.sdk.factory_loop import FactoryLoop, LoopOptions
from app.sdk.happenings import Happening, LoopEvent
from app.sdk.transport import Retries
from app.sdk.work import GiveBack, JobFailed

__all__ = [
    "FactoryLoop",
    "FleetClient",
    "FleetError",
    "GiveBack",
    "Happening",
    "JobFailed",
    "LoopEvent",
    "LoopOptions",
    "NotAFleet",
    "Problem",
    "Retries",
    "Unreachable",
]
