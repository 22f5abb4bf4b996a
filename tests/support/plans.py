"""Plans of statements: what PostgreSQL would really do."""

import re
from collections.abc import Iterator
from typing import Any

from app.store.session import Connection


async def plan(conn: Connection, statement: str, *arguments: object) -> list[dict[str, Any]]:
    """Explain a statement as it is planned for any arguments; returns the nodes, flat."""
    async with conn.transaction():
        await conn.execute("set local plan_cache_mode = force_generic_plan")
        explained = await conn.fetchval(f"explain (format json) {statement}", *arguments)
    return list(_nodes(explained[0]["Plan"]))


def scanned_whole(nodes: list[dict[str, Any]]) -> set[str]:
    """Tell which tables a plan reads from end to end."""
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


async def generic_plan(conn: Connection, statement: str) -> list[dict[str, Any]]:
    """Explain a statement as it is planned before its arguments are known; the nodes, flat."""
    count = max((int(number) for number in re.findall(r"\$(\d+)", statement)), default=0)
    arguments = f"({', '.join(['null'] * count)})" if count else ""
    async with conn.transaction():
        await conn.execute("set local plan_cache_mode = force_generic_plan")
        await conn.execute(f"prepare probed as {statement}")
        explained = await conn.fetchval(f"explain (format json) execute probed{arguments}")
        await conn.execute("deallocate probed")
    return list(_nodes(explained[0]["Plan"]))


def read_without_key(nodes: list[dict[str, Any]]) -> set[str]:
    """Tell which indexes or tables a plan reads from end to end, be it by an index."""
    return {
        node["Index Name"] if "Index Name" in node else node["Relation Name"]
        for node in nodes
        if node["Node Type"].endswith("Scan")
        and ("Relation Name" in node or "Index Name" in node)
        and "Index Cond" not in node
        and "Recheck Cond" not in node
    }


async def work_of(conn: Connection, statement: str, *arguments: str) -> int:
    """Run a statement by its generic plan, and count the rows that its nodes handled.

    Args:
        conn: in a transaction of the caller's, as it is really run.
        statement: what to run.
        arguments: as they are written in SQL.
    """
    await conn.execute("set local plan_cache_mode = force_generic_plan")
    await conn.execute(f"prepare worked as {statement}")
    explained = await conn.fetchval(
        f"explain (analyze, timing off, format json) execute worked ({', '.join(arguments)})"
    )
    await conn.execute("deallocate worked")
    nodes = list(_nodes(explained[0]["Plan"]))
    handled = (
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Join Filter", 0))
        for node in nodes
    )
    return int(sum(handled))
