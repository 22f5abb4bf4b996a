"""An operator's word as three columns: why, by whom, until when."""

from app.fleet import Standing
from app.store.session import Record


def columns_of(standing: Standing | None) -> tuple[object, object, object]:
    """Write a standing as its columns; three nulls for none."""
    if standing is None:
        return (None, None, None)
    return (standing.reason, standing.by, standing.until)


def standing_in(row: Record, kind: str) -> Standing | None:
    """Read a standing off the columns that begin with ``kind``, whether it is in force or not."""
    reason = row[f"{kind}_reason"]
    if reason is None:
        return None
    return Standing(reason=reason, by=row[f"{kind}_by"], until=row[f"{kind}_until"])
