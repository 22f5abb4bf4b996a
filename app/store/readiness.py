"""Whether the database answers, and holds our tables."""

from asyncpg import UndefinedTableError

from app.store.session import Connection
from app.store.sql import sql


async def has_schema(conn: Connection) -> bool:
    """Tell whether the database was ever migrated; whoever asks learns that it answers."""
    try:
        return await conn.fetchval(sql("schema_revision")) is not None
    except UndefinedTableError:
        return False
