"""What the edges hold of the database: names to hand on to a use case, and nothing to query by."""

from app.store.session import Connection, Database

__all__ = ["Connection", "Database"]
