"""The way to the database: straight, or through a pooler as the settings say."""

from app.cli.errors import CliError
from app.runtime.settings import Settings
from app.store.direct import leads_directly


async def check_the_way(settings: Settings) -> None:
    """Refuse at the start what would fail later, in bursts.

    Raises:
        CliError: there is a pooler that the settings do not speak of.
    """
    if settings.listen_url is not None and not await leads_directly(settings.listen_url):
        message = (
            "FLEET_LISTEN_URL leads through a pooler: LISTEN and migrations need a connection "
            "to PostgreSQL itself"
        )
        raise CliError(message)
    url = settings.database_url
    if url is None or not settings.database_statement_cache:
        return
    if not await leads_directly(url):
        message = (
            "FLEET_DATABASE_URL leads through a pooler: set FLEET_DATABASE_STATEMENT_CACHE=0, and "
            "FLEET_LISTEN_URL to a connection that leads around it"
        )
        raise CliError(message)
