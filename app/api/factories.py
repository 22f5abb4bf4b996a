"""Factories: register, show signs of life, and what ops decide about them."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import accept, plain, present
from app.api.answers import IfMatchGiven, answer, row
from app.api.calls import A_PLAIN_ID, Call, Hot, Reply, written
from app.api.deps import (
    Cursor,
    FactoryIdPath,
    Limit,
    OnlyFactory,
    Ops,
    OpsOrFactory,
    Tools,
    own,
)
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.enlist import dismiss, enlist, get_factory, list_factories
from app.coordinator.finish import LeaseRef
from app.coordinator.heartbeat import Beat
from app.coordinator.standing import drain, pause, resume
from app.errors import FactoryBusy, Invalid, LostRace, NotFound, VersionMismatch
from app.fleet import FactoryId, JobId, Json, Role
from app.wire.factories import (
    FactoryPage,
    FactoryPut,
    FactoryReply,
    Heartbeat,
    HeartbeatReply,
)
from app.wire.values import PAGE_DEFAULT, StandingRequest

router = APIRouter(tags=["factories"], route_class=CheckedRoute)

_STANDING = refusals(NotFound, LostRace)


@router.put(
    "/factories/{factory_id}",
    summary="Register a factory, or change it",
    response_model=FactoryReply,
    responses=refusals(VersionMismatch, LostRace)
    | {201: {"model": FactoryReply, "description": "It was not registered before"}},
)
async def factory_put(
    factory_id: FactoryIdPath,
    body: FactoryPut,
    version: IfMatchGiven,
    by: OpsOrFactory,
    tools: Tools,
) -> Response:
    """Say what a factory is. A restart never clears a drain or a pause.

    From the factory itself a field left out takes its default; from ops it stays as it is, and a
    `seat_limit` or `cost_ceiling` is an override that the factory's own PUT does not change.
    """
    me = own(by, factory_id)
    cleared = frozenset(name for name in body.model_fields_set if getattr(body, name) is None)
    cleared -= {"account"}
    if cleared and by.role is Role.FACTORY:
        raise _never_null(cleared)
    enlisted = await enlist(
        tools.db,
        accept.factory(me, body),
        fields_set=frozenset(body.model_fields_set),
        by=by,
        if_match=version,
        cleared=cleared,
    )
    return _factory(present.factory(enlisted.record), status=201 if enlisted.created else 200)


@router.post(
    "/factories/{factory_id}/heartbeat",
    summary="Show a sign of life, and renew all leases",
    response_model=HeartbeatReply,
    responses=refusals(NotFound, LostRace),
)
async def factory_heartbeat(
    factory_id: FactoryIdPath, body: Heartbeat, by: OnlyFactory, tools: Tools
) -> Response:
    """Renew every lease named, each on its own, and learn which are lost or to be cancelled."""
    call = Call(tools=tools, by=by, body=body, target=factory_id)
    return (await _heartbeat(call)).response()


async def _heartbeat(call: Call[Heartbeat]) -> Reply:
    body, tools = call.body, call.tools
    beat = Beat(
        health=body.health,
        external_load=body.external_load,
        warm_repos=None if body.warm_repos is None else tuple(dict.fromkeys(body.warm_repos)),
        cooldown_until=body.cooldown_until,
        leases=tuple(LeaseRef(job_id=JobId(each.job_id), fence=each.fence) for each in body.leases),
    )
    heard = await tools.reports.heartbeat(own(call.by, call.target), beat)
    for each in heard.leases:
        tools.metrics.lease(each.outcome)
    return written(plain.heartbeat(heard))


HOT = (
    Hot(
        path="/factories/{factory_id}/heartbeat",
        model=Heartbeat,
        act=_heartbeat,
        target=A_PLAIN_ID,
    ),
)


@router.post(
    "/factories/{factory_id}/drain",
    summary="Drain a factory",
    response_model=FactoryReply,
    responses=_STANDING,
)
async def factory_drain(
    factory_id: FactoryIdPath, body: StandingRequest, by: Ops, tools: Tools
) -> Response:
    """Let a factory finish what it holds and get nothing new; its heartbeats are told."""
    drained = await drain(
        tools.db, FactoryId(factory_id), reason=body.reason, until=body.until, by=by
    )
    return _factory(present.factory(drained))


@router.post(
    "/factories/{factory_id}/pause",
    summary="Pause a factory",
    response_model=FactoryReply,
    responses=_STANDING,
)
async def factory_pause(
    factory_id: FactoryIdPath, body: StandingRequest, by: Ops, tools: Tools
) -> Response:
    """Give a factory nothing new for a while; what it holds, it finishes."""
    paused = await pause(
        tools.db, FactoryId(factory_id), reason=body.reason, until=body.until, by=by
    )
    return _factory(present.factory(paused))


@router.post(
    "/factories/{factory_id}/resume",
    summary="Let a factory go on",
    response_model=FactoryReply,
    responses=_STANDING,
)
async def factory_resume(factory_id: FactoryIdPath, by: Ops, tools: Tools) -> Response:
    """Lift its drain, its pause and its quarantine, whichever it is under.

    A cool-down of its account is lifted too, for all who share that.
    """
    return _factory(present.factory(await resume(tools.db, FactoryId(factory_id), by=by)))


@router.get("/factories", summary="List factories", response_model=FactoryPage)
async def factories_page(
    _by: Ops, tools: Tools, cursor: Cursor = None, limit: Limit = PAGE_DEFAULT
) -> Response:
    """List factories by id."""
    page = await list_factories(tools.db, cursor, limit, waiting=tools.desk.waiting())
    items = [present.factory(each) for each in page.items]
    return answer(FactoryPage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/factories/{factory_id}",
    summary="Read a factory",
    response_model=FactoryReply,
    responses=refusals(NotFound),
)
async def factory_read(factory_id: FactoryIdPath, _by: Ops, tools: Tools) -> Response:
    """Read a factory: what it declared, what ops decided, and how it is doing."""
    found = await get_factory(tools.db, FactoryId(factory_id), waiting=tools.desk.waiting())
    return _factory(present.factory(found))


@router.delete(
    "/factories/{factory_id}",
    summary="Forget a factory",
    status_code=204,
    responses=refusals(NotFound, FactoryBusy, VersionMismatch),
)
async def factory_delete(
    factory_id: FactoryIdPath, version: IfMatchGiven, by: Ops, tools: Tools
) -> Response:
    """Forget a factory that holds no lease; what it did stays in the history of its jobs."""
    await dismiss(tools.db, FactoryId(factory_id), by=by, if_match=version)
    return Response(status_code=204)


def _factory(reply: FactoryReply, *, status: int = 200) -> Response:
    return row(reply, reply.version, status=status)


def _never_null(names: frozenset[str]) -> Invalid:
    message = "must not be null: only ops take an override back"
    errors: list[Json] = [{"field": name, "message": message} for name in sorted(names)]
    detail = f"{min(names)} {message}."
    return Invalid(detail, errors=errors)
