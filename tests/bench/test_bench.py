"""The bench measures on request only; what it measures with is tested always."""

from pathlib import Path

import orjson
import pytest

from app.store.session import Database
from tests.bench.__main__ import SECTIONS, chosen, main
from tests.bench.figures import Figure, percentile
from tests.bench.http import Answer, Exchange, Lease, Voice, leases_of
from tests.bench.pgbench import SCRIPTS, Swaps, pgbench
from tests.bench.report import Circumstances, lines
from tests.bench.stock import (
    Crew,
    Jobs,
    Stock,
    beyond,
    fill,
    lock_classes,
    some_classes,
    submissions,
)
from tests.bench.targets import TARGETS, verdicts

HERE = Circumstances(
    cores=2,
    python="3.11",
    postgres="PostgreSQL 18",
    durable=True,
    quick=True,
    load_before=0.5,
    load_after=1.0,
)


def figure(value: float, p50_ms: float = 1.0, p99_ms: float = 2.0) -> Figure:
    return Figure(
        name="made up",
        value=value,
        unit="requests/s",
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        shares={"client": 0.25, "server": 0.5},
    )


def test_a_percentile_is_a_sample_that_so_many_do_not_exceed() -> None:
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(samples, 0.5) == 3.0
    assert percentile(samples, 0.99) == 5.0
    assert percentile([7.0], 0.5) == 7.0


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_an_answer_is_read_in_whatever_pieces_it_arrives(size: int) -> None:
    answers: list[Answer] = []
    exchange = Exchange(answers.append, lambda _: None)
    claims = {"claims": [{"job": {"id": "j1"}, "lease": {"fence": 7}}]}
    body = orjson.dumps(claims)
    found = (
        b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: "
        + str(len(body)).encode()
        + b"\r\ncontent-type: application/json\r\n\r\n"
        + body
    )
    nothing = b"HTTP/1.1 204 No Content\r\nretry-after: 3\r\n\r\n"
    for message in (found, nothing, found):
        for at in range(0, len(message), size):
            exchange.data_received(message[at : at + size])
    assert [answer.status for answer in answers] == [200, 204, 200]
    assert [answer.body for answer in answers] == [body, b"", body]
    assert leases_of(answers[0]) == [Lease("j1", 7)]


def test_requests_say_how_long_they_are() -> None:
    voice = Voice("f1", "secret")
    leases = [Lease("j1", 1), Lease("j2", 2)]
    for request in (
        voice.claim(max_jobs=3, wait_s=10),
        voice.complete(leases[0], claim_next=1),
        voice.complete_all(leases, claim_next=2),
    ):
        head, _, body = request.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert b"Authorization: Bearer secret" in head
        assert orjson.loads(body)


def test_a_section_brings_the_floors_that_it_is_judged_by() -> None:
    assert chosen(["one"]) == ["client", "noop", "one"]
    assert chosen(["wake"]) == ["client", "noop", "swaps", "lone", "wake"]
    assert chosen(["claim", "depth"])[-1] == "depth"
    assert chosen(SECTIONS) == list(SECTIONS)
    with pytest.raises(ValueError, match="no section 'nonsense'"):
        chosen(["nonsense"])


def test_a_target_is_judged_once_its_figures_are_there() -> None:
    assert verdicts({"one": figure(900)}) == []
    (judged,) = verdicts({"one": figure(900), "noop_32": figure(1000)})
    assert (judged.target, judged.value, judged.met) == ("≥ 0.9", 0.9, True)
    (judged,) = verdicts({"waiting_memory": figure(301)})
    assert (judged.target, judged.met) == ("≤ 300", False)


def test_the_report_holds_every_figure_and_every_target() -> None:
    figures = {key: figure(100) for each in TARGETS for key in each.needs}
    text = "\n".join(lines(HERE, figures))
    assert all(each.what in text for each in TARGETS)
    assert text.count("made up") >= len(figures)
    assert "The client took 25% of a core at most" in text


def test_classes_are_as_many_as_were_asked_for() -> None:
    for count in (40, 400):
        classes = some_classes(count)
        assert len(set(classes)) == count
        assert not {*beyond(classes)} & {*classes}
    assert len({each.lock for each in lock_classes(200)}) == 200
    assert (
        submissions(3, 2)[0]["required_capabilities"]
        == submissions(3, 2)[2]["required_capabilities"]
    )


async def test_a_stock_is_put_into_the_database(db: Database) -> None:
    stock = Stock(
        jobs=[
            Jobs(count=100, classes=lock_classes(10), held=4),
            Jobs(count=50, classes=some_classes(40)),
        ],
        crew=Crew(size=3, seats=2),
        repos=5,
    )
    async with db.connection() as conn:
        await fill(conn, stock)
        assert await conn.fetchval("select count(*) from job where state = 'ready'") == 146
        assert await conn.fetchval("select count(distinct class_id) from job") == 50
        assert await conn.fetchval("select count(distinct repo) from job") == 5
        assert (
            await conn.fetchval(
                "select count(*) from job j join job_class c on c.id = j.class_id"
                " join job_lock l on l.name = c.lock"
                " where l.holder_job = j.id and l.holder_fence = j.fence and j.state = 'leased'"
            )
            == 4
        )
        assert await conn.fetchval(
            "select array_agg(used order by factory_id) from factory_seat"
        ) == [0, 0, 0, 4]


@pytest.mark.parametrize("script", ["real_claim.sql", "real_pair.sql"])
async def test_pgbench_swaps_each_job_once(db: Database, script: str) -> None:
    async with db.connection() as conn:
        await fill(conn, Stock(jobs=[Jobs(count=20, classes=some_classes(4))], crew=Crew(size=1)))
    swaps = Swaps(name="swaps", script=script, clients=2, each=10, timed=True)
    figure = pgbench(db.url, swaps)
    assert figure.value > 0
    assert figure.median_ms <= figure.late_ms
    async with db.connection() as conn:
        states = await conn.fetch("select state, count(*) from job group by state")
    assert [tuple(row) for row in states] == [
        ("leased" if script == "real_claim.sql" else "succeeded", 20)
    ]


def test_every_script_says_what_it_does() -> None:
    assert all(path.read_text().startswith("-- ") for path in SCRIPTS.glob("*.sql"))


@pytest.mark.bench
@pytest.mark.timeout(900)
def test_a_quick_run_judges_every_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--quick", "--no-durable", "--json", str(tmp_path / "report.json")])
    report = orjson.loads((tmp_path / "report.json").read_bytes())
    assert [each["what"] for each in report["targets"]] == [each.what for each in TARGETS]
    text = capsys.readouterr().out
    assert all(each.what in text for each in TARGETS)
