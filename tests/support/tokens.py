"""Tokens of every role that is not a factory's, straight from the use case."""

from app.coordinator.tokens import mint_each
from app.fleet import Role
from app.store.session import Database, Limits


async def tokens_of(database_url: str) -> dict[str, str]:
    """Make a token for ops, client and cron."""
    db = await Database.open(database_url, Limits(size=1))
    try:
        minted = await mint_each(db, Role.OPS, Role.CLIENT, Role.CRON)
    finally:
        await db.close()
    return {role.value: each.secret for role, each in minted.items()}
