"""Ready: can this process serve a call now?"""

from app.errors import Unavailable
from app.store.readiness import has_schema
from app.store.session import Database


async def ready(db: Database) -> bool:
    """Tell whether the database answers and holds our tables.

    Its revision is not compared: while replicas are replaced one by one, the old ones serve on the
    schema of the new.
    """
    try:
        async with db.connection() as conn:
            return await has_schema(conn)
    except Unavailable:
        return False
