"""What routes depend on: who is calling, the use cases' tools, and the types of parameters."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeAlias
from uuid import UUID

from fastapi import Depends, Path, Query, Request

from app.api.metrics import Metrics
from app.coordinator.database import Database
from app.coordinator.desk import ClaimDesk
from app.coordinator.expire import LeaseReport
from app.coordinator.explain_workflows import WorkflowsExplained
from app.coordinator.hear import Delivery, Heard
from app.coordinator.pulse import PulseBook
from app.coordinator.reports import Reports
from app.coordinator.ticking import Occasion, Ticked
from app.coordinator.tokens import Doorman
from app.coordinator.turnstile import Turnstile
from app.errors import Forbidden
from app.fleet import FactoryId, Principal, Role
from app.wire.values import PAGE_DEFAULT, PAGE_MAX, PersonalId
from app.workflow import WorkflowId


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What one serving process has; made in :mod:`app.main`, one per application."""

    db: Database
    doorman: Doorman
    desk: ClaimDesk
    reports: Reports
    sweep: Callable[[], Awaitable[LeaseReport]]
    pulses: PulseBook
    tick_workflows: Callable[[Occasion, WorkflowId | None], Awaitable[Ticked]]
    explaining: Turnstile
    rehearsing: Turnstile
    explain_workflows: Callable[[], Awaitable[WorkflowsExplained]]
    tick_repos: Callable[[Occasion], Awaitable[Ticked]]
    hear: Callable[[Delivery], Awaitable[Heard]]
    webhook_secret: str | None
    metrics: Metrics


def services(request: Request) -> Services:
    """Find what the application that got this request has."""
    found: Services = request.app.state.services
    return found


def principal(request: Request) -> Principal:
    """Tell who is calling, as the door found out."""
    found: Principal = request.state.principal
    return found


class Allow:
    """Lets only some roles through; the door has already asked for a valid token.

    The routes' class asks it before the body is read, so that who may not call is not told what is
    wrong with the body either.
    """

    def __init__(self, *roles: Role) -> None:
        """Let ``roles`` through."""
        self.roles = roles

    async def __call__(self, request: Request) -> Principal:
        """Return who is calling.

        Raises:
            Forbidden: the role is another.
        """
        return self.check(principal(request))

    def check(self, by: Principal) -> Principal:
        """Return ``by`` if its role may call.

        Raises:
            Forbidden: the role is another.
        """
        if by.role not in self.roles:
            allowed = " or ".join(self.roles)
            detail = f"This call is for {allowed}; the token's role is {by.role}."
            raise Forbidden(detail, roles=list(self.roles))
        return by


def own(by: Principal, factory_id: str) -> FactoryId:
    """Return the factory's id if the caller may act for it.

    Raises:
        Forbidden: the caller is another factory.
    """
    if by.role is Role.FACTORY and by.factory_id != factory_id:
        detail = f"This token is bound to the factory {by.factory_id} and acts for no other."
        raise Forbidden(detail, factory_id=by.factory_id)
    return FactoryId(factory_id)


def bound(by: Principal) -> FactoryId:
    """Return the factory that the caller's token is bound to.

    Raises:
        Forbidden: it is bound to none.
    """
    if by.factory_id is None:
        detail = "This call is for factories, and the token is bound to none."
        raise Forbidden(detail)
    return by.factory_id


async def _services(request: Request) -> Services:
    return services(request)


async def _database(request: Request) -> Database:
    return services(request).db


Tools: TypeAlias = Annotated[Services, Depends(_services)]
Db: TypeAlias = Annotated[Database, Depends(_database)]

Ops: TypeAlias = Annotated[Principal, Depends(Allow(Role.OPS))]
OpsOrClient: TypeAlias = Annotated[Principal, Depends(Allow(Role.OPS, Role.CLIENT))]
OpsOrFactory: TypeAlias = Annotated[Principal, Depends(Allow(Role.OPS, Role.FACTORY))]
OpsOrCron: TypeAlias = Annotated[Principal, Depends(Allow(Role.OPS, Role.CRON))]
OnlyFactory: TypeAlias = Annotated[Principal, Depends(Allow(Role.FACTORY))]
Anybody: TypeAlias = Annotated[Principal, Depends(Allow(*Role))]

JobIdPath: TypeAlias = Annotated[
    UUID, Path(description="The job's id.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
]
FactoryIdPath: TypeAlias = Annotated[
    PersonalId, Path(description="The factory's id.", examples=["f1"])
]
RepoIdPath: TypeAlias = Annotated[PersonalId, Path(description="The repo's id.", examples=["shop"])]
ProjectIdPath: TypeAlias = Annotated[
    UUID, Path(description="The project's id.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
]
WorkflowIdPath: TypeAlias = Annotated[
    UUID, Path(description="The workflow's id.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
]
Cursor: TypeAlias = Annotated[
    str | None,
    Query(
        max_length=2048,
        description="`next_cursor` of the page before; without it, the first page.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    ),
]
Limit: TypeAlias = Annotated[
    int, Query(ge=1, le=PAGE_MAX, description="Items per page at most.", examples=[PAGE_DEFAULT])
]
