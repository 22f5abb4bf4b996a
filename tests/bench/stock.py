"""Stock: jobs, factories and tokens, put straight into a database by SQL.

The ``n``-th job has an id that can be computed from ``n``, as pgbench does to find it. Younger jobs
have larger ids, as if they had been submitted one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from app.coordinator.tokens import mint
from app.fleet import CostClass, FactoryId, JobClass, Priority, Role
from app.store import classes
from app.store.session import Connection

_ENGINES = ("claude", "codex", "devin", "aider", "goose")
_ABILITIES = ("docker", "gpu", "browser", "android", "macos", "x86", "arm", "kvm", "lfs", "nix")
_STRIDE = 719  # a prime that does not divide how many classes there are

_JOBS = """
insert into job (
    id, class_id, kin, state, kind, repo, created_at, attempts_max, timeout_s, if_parent_fails,
    payload
)
select
    ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    c.id,
    c.kin_key,
    'ready',
    'bench',
    case
        when $6 then 'acme/repo-' || n % cardinality($3::bigint[])
        when $4 > 0 then 'acme/repo-' || n / cardinality($3::bigint[]) % $4
    end,
    now() - make_interval(secs => ($5 - n) * 0.001),
    3,
    14400,
    'cancel',
    jsonb_build_object('prompt', 'Fix the flaky test number ' || n, 'cwd', '/src/web')
from generate_series($1::bigint, $2::bigint) as n
join job_class c on c.id = ($3::bigint[])[1 + n % cardinality($3::bigint[])]
order by n
"""
_FACTORIES = """
with made as (
    insert into factory (id, capabilities, engines, declared_cost_ceiling, declared_seat_limit)
    select name, $2, $3, 'high', $4 from unnest($1::text[]) as name
    returning id, declared_seat_limit
),
seated as (insert into factory_seat (factory_id, seat_limit) select * from made)
insert into factory_pulse (factory_id, health) select id, 'ok' from made
"""
_HELD = """
with held as (
    update job
    set state = 'leased', version = 2, fence = 1, fence_open = true, holder = $2, seated = true,
        lease_s = 3600, claimed_at = now(), lease_expires_at = now() + interval '1 hour',
        wake_at = now() + interval '1 hour', attempts = 1
    where id in (
        select distinct on (class_id) id
        from job
        where class_id = any($1::bigint[])
        order by class_id, created_at, id
    )
    returning id, class_id, fence
),
locked as (
    update job_lock l
    set holder_job = h.id, holder_fence = h.fence, lapsed = false
    from held h
    join job_class c on c.id = h.class_id
    where l.name = c.lock
)
update factory_seat set used = (select count(*) from held) where factory_id = $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Factories that are all alike: they offer everything, so that everything is eligible."""

    size: int = 32
    seats: int = 1

    @property
    def names(self) -> list[str]:
        return [f"f{number:05}" for number in range(self.size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Ready jobs, dealt out to classes in turn; ``held`` locks of them are taken.

    With ``own_repos`` each class has a repo of its own, as clones have.
    """

    count: int
    classes: Sequence[JobClass]
    held: int = 0
    own_repos: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What a database is filled with. Jobs named first are the older ones."""

    jobs: Sequence[Jobs] = ()
    crew: Crew = Crew()
    repos: int = 0
    """Over how many repos the jobs are spread; 0: they belong to none."""


def job_id(number: int) -> str:
    """Compute the id of a job that was put in."""
    return f"01980000-0000-7000-8000-{number:012x}"


def some_classes(count: int) -> list[JobClass]:
    """Make classes without a lock that every factory of a crew may take."""
    made = [
        JobClass(
            required=frozenset(required),
            prefers_engine=engine,
            cost_class=cost,
            priority=priority,
        )
        for required, cost, priority, engine in product(
            _required(), CostClass, Priority, (None, *_ENGINES)
        )
    ]
    # Dealt with a stride, so that few classes differ in everything, too.
    assert count <= len(made)
    return [made[number * _STRIDE % len(made)] for number in range(count)]


def lock_classes(count: int) -> list[JobClass]:
    """Make classes that differ in their lock alone, as those of the ticks do."""
    return [JobClass(lock=f"clone:/src/repo-{number}") for number in range(count)]


def beyond(job_classes: Sequence[JobClass]) -> list[JobClass]:
    """Make the same classes, but for what nobody offers; and more urgent, so that they tempt."""
    return [
        JobClass(
            required=each.required | {"mainframe"},
            prefers_engine=each.prefers_engine,
            cost_class=each.cost_class,
            priority=each.priority,
        )
        for each in job_classes
    ]


async def fill(conn: Connection, stock: Stock) -> None:
    """Put it all into an empty database, and leave that at rest."""
    await _put_crew(conn, stock.crew)
    total = sum(each.count for each in stock.jobs)
    first = 1
    for jobs in stock.jobs:
        ids = await classes.intern(conn, jobs.classes)
        in_order = [ids[each] for each in jobs.classes]
        last = first + jobs.count - 1
        await conn.execute(_JOBS, first, last, in_order, stock.repos, total, jobs.own_repos)
        first = last + 1
        if jobs.held:
            await _put_crew(conn, Crew(size=1, seats=jobs.held), names=["holder"])
            await conn.execute(_HELD, in_order[: jobs.held], "holder")
    await settle(conn)


async def settle(conn: Connection) -> None:
    """Do now what would otherwise happen in the middle of a measurement."""
    await conn.execute("vacuum analyze")
    await conn.execute("checkpoint")


async def tokens(conn: Connection, crew: Crew) -> dict[str, str]:
    """Make a token for each factory of a crew."""
    async with conn.transaction():
        return {
            name: (await mint(conn, role=Role.FACTORY, factory_id=FactoryId(name))).secret
            for name in crew.names
        }


async def client_token(conn: Connection) -> str:
    """Make a token that submits jobs."""
    async with conn.transaction():
        return (await mint(conn, role=Role.CLIENT)).secret


async def _put_crew(conn: Connection, crew: Crew, names: list[str] | None = None) -> None:
    await conn.execute(
        _FACTORIES, names or crew.names, sorted(_ABILITIES), sorted(_ENGINES), crew.seats
    )


def _required() -> list[tuple[str, ...]]:
    alone = [(each,) for each in _ABILITIES]
    return [(), *alone, *pairwise(_ABILITIES)]


def submissions(count: int, class_count: int) -> list[dict[str, object]]:
    """Write jobs as clients submit them, dealt out to classes in turn."""
    made = some_classes(class_count)
    return [_submission(number, made[number % class_count]) for number in range(count)]


def _submission(number: int, job_class: JobClass) -> dict[str, object]:
    return {
        "kind": "bench",
        "repo": f"acme/repo-{number % 100}",
        "payload": {"prompt": f"Fix the flaky test number {number}", "cwd": "/src/web"},
        "required_capabilities": sorted(job_class.required),
        "prefers_engine": job_class.prefers_engine,
        "cost_class": job_class.cost_class,
        "priority": job_class.priority,
        "labels": {"team": f"team-{number % 7}"},
    }
