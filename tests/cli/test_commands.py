"""The commands that talk to a coordinator: what they print, and how they end."""

import asyncio
import json
from pathlib import Path

from app.fleet import CostClass
from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from tests.support.command import fleet, fleet_process
from tests.support.coordinator import Coordinator

JOB_FILE = """\
---
engine: devin
cwd: /src/shop
yolo: true
lock: shop
timeout: 4h
---
Fix the flaky test.
"""


async def test_submit_by_flags_and_read_it_back(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut(capabilities=["docker"], engines=["devin"]))
    done = await fleet(
        *("submit", "-d", data_dir, "--kind", "implement", "--repo", "acme/web", "--json"),
        *("--payload", '{"depth": 3}', "--prompt", "Do [it] now", "--cwd", "/src"),
        *("--engine", "devin", "--capability", "docker", "--priority", "high", "--cost", "medium"),
        *("--lock", "web", "--timeout", "1h30m", "--max-attempts", "5", "--label", "team=web"),
        *("--dedupe-key", "once", "--run-after", "2020-01-01T00:00:00Z"),
    )
    assert (done.code, done.err) == (0, "")
    job = done.json
    assert job["payload"] == {"depth": 3, "prompt": "Do [it] now", "cwd": "/src"}
    assert job["required_capabilities"] == ["docker"]
    wanted = {"timeout_s": 5400, "max_attempts": 5, "priority": "high", "cost_class": "medium"}
    assert wanted.items() <= job.items()

    listed, shown, whole, empty = await asyncio.gather(
        fleet("jobs", "-d", data_dir, "--label", "team=web", "--kind", "implement", "--json"),
        fleet("jobs", "-d", data_dir),
        fleet("jobs", "-d", data_dir, job["id"]),
        fleet("jobs", "-d", data_dir, "--state", "dead"),
    )
    assert [each["id"] for each in listed.json["items"]] == [job["id"]]
    assert job["id"] in shown.out
    assert "acme/web" in shown.out
    assert "Do [it] now" in whole.out
    assert "submit" in whole.out
    assert empty.out == "no jobs\n"


async def test_a_job_file_goes_in_as_the_seed_says(
    coordinator: Coordinator, data_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "job.md"
    file.write_text(JOB_FILE)
    done = await fleet("submit", "-d", data_dir, file, "--label", "n=1", "--json")
    # Nobody offers yolo: accepted, and said to be in vain.
    assert done.code == 2
    assert "warning" in done.err
    assert "yolo" in done.err
    job = done.json
    assert job["payload"] == {"cwd": "/src/shop", "yolo": True, "prompt": "Fix the flaky test."}
    assert (job["prefers_engine"], job["lock"], job["timeout_s"]) == ("devin", "shop", 14_400)
    assert job["required_capabilities"] == ["yolo"]

    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut(capabilities=["yolo"]))
    again = await fleet("submit", "-d", data_dir, "-", stdin=JOB_FILE)
    assert (again.code, again.err) == (0, "")
    assert again.out.endswith(" agent ready\n")


async def test_jobs_go_in_as_json(coordinator: Coordinator, data_dir: Path, tmp_path: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"kind": "one", "labels": {"a": "1"}}))
    batch = [{"kind": "build", "ref": "b"}, {"kind": "test", "depends_on": ["b"]}]
    one, many = await asyncio.gather(
        fleet(
            *("submit", "-d", data_dir, "--json-file", file, "--label", "b=2", "--json"),
            *("--idempotency-key", "k"),
        ),
        fleet("submit", "-d", data_dir, "--json-file", "-", stdin=json.dumps(batch)),
    )
    assert one.json["labels"] == {"a": "1", "b": "2"}
    assert [line.split()[1:] for line in many.out.splitlines()] == [
        ["build", "ready"],
        ["test", "blocked"],
    ]
    again = await fleet(
        *("submit", "-d", data_dir, "--json-file", file, "--label", "b=2", "--json"),
        *("--idempotency-key", "k"),
    )
    assert again.json["id"] == one.json["id"]


async def test_what_is_no_job_is_said_in_one_sentence(data_dir: Path, tmp_path: Path) -> None:
    misspelt = tmp_path / "job.md"
    misspelt.write_text("---\nlocks: shop\n---\nGo.\n")
    submit = ("submit", "-d", data_dir)
    cases = {
        "unknown in the header: locks": (*submit, misspelt),
        "what kind of job is it?": submit,
        "cannot read": (*submit, tmp_path / "none.md"),
        "not both": (*submit, misspelt, "--json-file", "-"),
        "--payload is not JSON": (*submit, "--kind", "x", "--payload", "{"),
        "--payload must be a JSON object": (*submit, "--kind", "x", "--payload", "[]"),
        "--label must be name=value": (*submit, "--kind", "x", "--label", "web"),
        "--timeout: 'soon' is not a duration": (*submit, "--kind", "x", "--timeout", "soon"),
        "priority: must be critical, high, normal or low": (
            *submit,
            "--kind",
            "x",
            "--priority",
            "huge",
        ),
        "printable ASCII": (*submit, "--kind", "x", "--idempotency-key", "naïve"),
        "not the id of a job": ("jobs", "-d", data_dir, "7"),
        "there is no tick 'moon'": ("tick", "-d", data_dir, "moon"),
        "give one": ("jobs", "-d", data_dir, "--watch", "--json"),
        "No such option": ("jobs", "--nonsense"),
    }
    ended = await asyncio.gather(*(fleet(*words) for words in cases.values()))
    for said, done in zip(cases, ended, strict=True):
        assert done.code == 1, said
        assert said in done.err


async def test_a_refusal_is_said_with_its_reasons(data_dir: Path) -> None:
    nowhere = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
    unknown, wrong = await asyncio.gather(
        fleet("jobs", "-d", data_dir, nowhere),
        fleet("submit", "-d", data_dir, "--kind", "x", "--after", nowhere),
    )
    for done in (unknown, wrong):
        assert done.code == 1
        assert done.err.startswith("error: ")
        assert nowhere in done.err
        assert done.err.count("\n") == 1


async def test_a_wrong_field_is_said_once_and_in_words(data_dir: Path) -> None:
    state, factory, setting = await asyncio.gather(
        fleet("jobs", "-d", data_dir, "--state", "over"),
        fleet("explain", "-d", data_dir, "a/b"),
        fleet("serve", FLEET_PORT="a lot"),
    )
    assert state.err == (
        "error: state: must be blocked, scheduled, ready, held, leased, succeeded, dead or "
        "cancelled\n"
    )
    assert factory.err == (
        "error: factory_id: must have no slash and no control character, and no space at either "
        "end\n"
    )
    assert setting.err == "error: FLEET_PORT: must be a whole number\n"


async def test_factories_and_explanations(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut(engines=["devin"], cost_ceiling=CostClass.MEDIUM))
    await ops.factories.put("f2", FactoryPut(capabilities=["docker"]))
    job = await ops.jobs.submit(JobSubmit(kind="x", required_capabilities=["engine:devin"]))
    await ops.jobs.submit(JobSubmit(kind="y", required_capabilities=["docker"]))
    listing, listed, factory, why, pair, whole = await asyncio.gather(
        fleet("factories", "-d", data_dir),
        fleet("factories", "-d", data_dir, "--json"),
        fleet("explain", "-d", data_dir, "f1"),
        fleet("explain", "-d", data_dir, job.id),
        fleet("explain", "-d", data_dir, job.id, "f2", "--json"),
        fleet("explain", "-d", data_dir, "f1", "--json"),
    )
    assert "engine:devin" in listing.out
    assert "working" in listing.out
    assert [each["id"] for each in listed.json["items"]] == ["f1", "f2"]
    assert str(job.id) in factory.out
    assert "capability_fit" in factory.out
    assert "█" in factory.out
    assert "missing_capability" in factory.out
    assert "docker would unlock 1 job\n" in factory.out
    assert "f1: can take it" in why.out
    assert "f2: cannot take it" in why.out
    assert "waiting does not help" in why.out
    assert [each["factory_id"] for each in pair.json["verdicts"]] == ["f2"]
    assert whole.json["ranking"][0]["job_id"] == str(job.id)


async def test_ticks_and_tokens(coordinator: Coordinator, data_dir: Path) -> None:
    tick, leases, made = await asyncio.gather(
        fleet("tick", "-d", data_dir),
        fleet("tick", "-d", data_dir, "leases", "--json"),
        fleet("token", "create", "-d", data_dir, "--role", "client", "--expires-in", "1h"),
    )
    assert tick.out.splitlines()[0] == "leases: nothing to do"
    assert leases.json["expired"] == 0
    secret = made.out.strip()
    assert secret.startswith("fleet_")
    assert "not shown again" in made.err
    by_environment = {"FLEET_URL": coordinator.url, "FLEET_TOKEN": secret}
    assert (await fleet("jobs", **by_environment)).code == 0
    listed = await fleet("token", "list", "-d", data_dir, "--json")
    (token,) = [each for each in listed.json["items"] if each["expires_at"]]
    assert secret not in listed.out
    revoked = await fleet("token", "revoke", "-d", data_dir, token["id"])
    assert revoked.code == 0
    refused = await fleet("jobs", **by_environment)
    assert refused.code == 1
    assert "token" in refused.err


async def test_the_first_token_of_a_shared_database(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    made = await fleet(
        *("token", "create", "--role", "ops", "--json"),
        FLEET_DATABASE_URL=coordinator.database_url,
        FLEET_DATA_DIR=str(tmp_path),
    )
    assert made.code == 0, made.err
    listed = await fleet("factories", FLEET_URL=coordinator.url, FLEET_TOKEN=made.json["token"])
    assert listed.out == "no factories\n"


async def test_migrate_and_serve_need_a_database_and_a_schema(empty_database_url: str) -> None:
    nowhere, early = await asyncio.gather(
        fleet_process("migrate"),
        fleet_process("serve", "--port", "0", FLEET_DATABASE_URL=empty_database_url),
    )
    assert nowhere.code == early.code == 1
    assert "set FLEET_DATABASE_URL" in nowhere.err
    assert "run `fleet migrate` first" in early.err
    first = await fleet_process("migrate", FLEET_DATABASE_URL=empty_database_url)
    again = await fleet_process("migrate", FLEET_DATABASE_URL=empty_database_url)
    assert first.out.startswith("the schema went from nothing to ")
    assert again.out.endswith(" already\n")


async def test_a_coordinator_that_is_not_there(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "fleet.json").write_text("{")
    nowhere = {"FLEET_URL": "http://127.0.0.1:9", "FLEET_TOKEN": "fleet_x"}
    cases = {
        "start one with `fleet up`": fleet("jobs", "-d", tmp_path),
        "is damaged": fleet("jobs", "-d", damaged),
        "no coordinator answers at http://127.0.0.1:9": fleet("jobs", **nowhere),
        "must start with http": fleet("jobs", FLEET_URL="localhost", FLEET_TOKEN="x"),
        "name a host, not 'http://'": fleet("jobs", FLEET_URL="http://", FLEET_TOKEN="x"),
        ":99999'": fleet("jobs", FLEET_URL="http://localhost:99999", FLEET_TOKEN="x"),
        "set FLEET_TOKEN": fleet(
            "jobs", FLEET_URL="http://127.0.0.1:9", FLEET_DATA_DIR=str(tmp_path)
        ),
        "a factory needs its token": fleet(
            *("factory", "run", "--id", "f", "--exec", "cat"),
            FLEET_URL="http://127.0.0.1:9",
            FLEET_DATA_DIR=str(tmp_path),
        ),
    }
    ended = await asyncio.gather(*cases.values())
    for said, done in zip(cases, ended, strict=True):
        assert done.code == 1, said
        assert said in done.err
        assert done.err.count("\n") == 1
