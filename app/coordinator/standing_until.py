"""A standing that is to begin now must not be over already."""

from datetime import datetime

from app.errors import Invalid
from app.fleet import Standing


def ahead(standing: Standing, now: datetime) -> Standing:
    """Return the standing if it is in force.

    Raises:
        Invalid: its ``until`` is past.
    """
    if standing.in_force(now):
        return standing
    detail = "It must end in the future."
    raise Invalid(detail, errors=[{"field": "until", "message": detail}])
