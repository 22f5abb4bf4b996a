"""Values as replies: the hand-off from the use cases to the wire."""

from app.fleet import FactoryRecord, JobRecord, Standing
from app.tick_jobs import shown_key
from app.wire.factories import FactoryReply
from app.wire.jobs import JobReply
from app.wire.values import StandingReply


def standing(ordered: Standing | None) -> StandingReply | None:
    """Show a drain, a pause or a hold."""
    if ordered is None:
        return None
    return StandingReply(reason=ordered.reason, by=ordered.by, until=ordered.until)


def job(record: JobRecord) -> JobReply:
    """Show a job."""
    job_class = record.job_class
    return JobReply(
        id=record.id,
        version=record.version,
        kind=record.kind,
        state=record.state,
        repo=record.repo,
        payload=record.payload,
        prefers_engine=job_class.prefers_engine,
        required_capabilities=sorted(job_class.required),
        priority=job_class.priority,
        cost_class=job_class.cost_class,
        lock=job_class.lock,
        excluded_factories=sorted(job_class.excluded),
        depends_on=list(record.depends_on),
        if_parent_fails=record.if_parent_fails,
        run_after=record.run_after,
        timeout_s=record.timeout_s,
        attempts=record.attempts,
        max_attempts=record.attempts_max,
        dedupe_key=shown_key(record.dedupe_key),
        labels=dict(record.labels),
        hold=standing(record.hold),
        factory_id=record.factory_id,
        fence=record.fence,
        fence_open=record.fence_open,
        claimed_at=record.claimed_at,
        lease_expires_at=record.lease_expires_at,
        cancel_requested=record.cancel_requested,
        result=record.result,
        error=record.error,
        created_at=record.created_at,
        updated_at=record.updated_at,
        finished_at=record.finished_at,
    )


def factory(record: FactoryRecord) -> FactoryReply:
    """Show a factory; an override of ops stands over what it declared."""
    spec = record.spec
    seats, ceiling = record.seat_limit_override, record.cost_ceiling_override
    return FactoryReply(
        id=spec.id,
        version=record.version,
        capabilities=sorted(spec.capabilities),
        engines=sorted(spec.engines),
        warm_repos=list(spec.warm_repos),
        cost_ceiling=spec.cost_ceiling if ceiling is None else ceiling,
        cost_ceiling_override=ceiling,
        seat_limit=spec.seat_limit if seats is None else seats,
        seat_limit_override=seats,
        seats_used=record.seats_used,
        health=record.health,
        reported_health=spec.health,
        external_load=spec.external_load,
        account=spec.account,
        labels=dict(spec.labels),
        drain=standing(record.drain),
        pause=standing(record.pause),
        quarantined_until=record.quarantined_until,
        cooldown_until=record.cooldown_until,
        stale=record.stale,
        last_seen_at=record.last_seen_at,
        last_served_at=record.last_served_at,
        registered_at=record.registered_at,
    )
