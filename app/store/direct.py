"""Whether a URL leads to PostgreSQL itself, or to a pooler before it.

A session that means to keep something (a lock, a LISTEN, prepared statements) must be with one
server process for as long as it lasts; a pooler in transaction mode deals out another one for each
transaction, and says nothing of it. What gives poolers away is what they do to startup parameters
they do not know: some refuse the connection, the others drop them.
"""

from typing import Final

import asyncpg

from app.store.session import reachable

_MARK: Final = "fleet.direct"
_UNSUPPORTED: Final = "unsupported startup parameter"


async def leads_directly(url: str, *, timeout_s: float = 10.0) -> bool:
    """Connect once, and tell whether a server process of PostgreSQL itself answers.

    Raises:
        Unavailable: nobody answers.
    """
    with reachable():
        try:
            connection = await asyncpg.connect(
                dsn=url, timeout=timeout_s, statement_cache_size=0, server_settings={_MARK: "yes"}
            )
        except asyncpg.ProtocolViolationError as error:
            if _UNSUPPORTED not in str(error):
                raise
            return False
        try:
            seen = await connection.fetchval(f"select current_setting('{_MARK}', true)")
            return bool(seen == "yes")
        finally:
            await connection.close(timeout=timeout_s)
