"""The tokens of ``fleet.json``: kept as long as they open, made anew where they do not."""

from app.cli.fleet_file import FleetTokens
from app.coordinator.database import Database
from app.coordinator.tokens import Doorman, mint_each
from app.errors import Unauthenticated
from app.fleet import Role

_ROLES = (Role.OPS, Role.CLIENT, Role.CRON)


async def tokens_for(database_url: str, before: FleetTokens | None) -> FleetTokens:
    """Make the tokens of this machine; those that still open are kept.

    Args:
        database_url: the coordinator's database, reached directly.
        before: the tokens of the last start, if there was one.
    """
    db = await Database.open(database_url)
    try:
        kept = await _good(db, before)
        missing = [role for role in _ROLES if role not in kept]
        made = await mint_each(db, *missing) if missing else {}
        secrets = kept | {role: minted.secret for role, minted in made.items()}
    finally:
        await db.close()
    return FleetTokens(ops=secrets[Role.OPS], client=secrets[Role.CLIENT], cron=secrets[Role.CRON])


async def _good(db: Database, tokens: FleetTokens | None) -> dict[Role, str]:
    if tokens is None:
        return {}
    doorman = Doorman(db)
    good = {}
    for role, secret in zip(_ROLES, (tokens.ops, tokens.client, tokens.cron), strict=True):
        try:
            principal = await doorman.authenticate(secret)
        except Unauthenticated:
            continue
        if principal.role is role:
            good[role] = secret
    return good
