"""The oldest PostgreSQL that is installed: schema, statements, and the way of a job."""

import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import asyncpg

import app.store.sql
from app.store.session import Database
from app.store.sql import sql
from tests.support.api import fleet_on_port
from tests.support.environment import unmeasured_environment
from tests.support.installed import OLDEST, Installed
from tests.support.whole_path import walk

EMBEDDED = 18

ROOT = Path(__file__).parents[2]
STATEMENTS = Path(app.store.sql.__file__).parent / "statements"

REPRESENTATIVE = ("migrations", "coordinator/test_finish.py", "coordinator/test_expire.py")


async def test_it_is_older_than_the_one_that_we_bring(db: Database) -> None:
    async with db.connection() as conn:
        assert OLDEST <= conn.get_server_version().major < EMBEDDED


async def test_every_statement_is_understood(database_url: str) -> None:
    conn = await asyncpg.connect(database_url)
    names = sorted(path.stem for path in STATEMENTS.glob("*.sql"))
    assert names
    for name in names:
        await conn.prepare(sql(name))
    await conn.close()


async def test_a_job_goes_all_its_way(database_url: str) -> None:
    async with fleet_on_port(database_url) as fleet:
        await walk(fleet)


async def test_what_the_suite_says_of_migrations_claims_and_leases_holds_here(
    installed: Installed,
) -> None:
    process = await create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not programs"),
        *(str(ROOT / "tests" / each) for each in REPRESENTATIVE),
        stdout=PIPE,
        stderr=STDOUT,
        cwd=ROOT,
        env=unmeasured_environment(FLEET_TEST_DATABASE_URL=installed.url),
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
