"""Columns that many tables have, declared once."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, DateTime, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB


def time_column(*, nullable: bool = True, now: bool = False) -> Column[datetime]:
    """Make a column of time with zone; ``now`` fills it with the transaction's time."""
    return Column(
        DateTime(timezone=True), nullable=nullable, server_default=text("now()") if now else None
    )


def texts_column() -> Column[list[str]]:
    """Make a column of texts, empty unless told otherwise."""
    return Column(ARRAY(Text), nullable=False, server_default=text("'{}'::text[]"))


def json_column(*, nullable: bool = False) -> Column[Any]:
    """Make a column of JSON: an empty object unless told otherwise, or null."""
    return Column(
        JSONB(none_as_null=True),
        nullable=nullable,
        server_default=None if nullable else text("'{}'::jsonb"),
    )
