"""The environment tests run in: read here and nowhere else."""

import os

HYPOTHESIS_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
"""``dev`` (quick), ``ci`` (the same examples every time) or ``deep`` (a hunt of minutes)."""

ADMIN_URL = os.environ.get("FLEET_TEST_DATABASE_URL")
"""A PostgreSQL where the suite may create databases; embedded PostgreSQL if not given."""

DEBIAN_REQUIRED = os.environ.get("FLEET_TEST_DEBIAN") == "required"
"""Whether tests that need Debian's PostgreSQL and PgBouncer fail without them; else left out."""

_MEASURED_BY = "COVERAGE_PROCESS_CONFIG"


def child_environment(**settings: str) -> dict[str, str]:
    """Make the environment of a process under test: ours, without settings of the machine.

    Args:
        settings: settings to give it, as ``FLEET_…="…"``.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("FLEET_")}
    return inherited | settings


def unmeasured_environment(**settings: str) -> dict[str, str]:
    """Make the same for a process that does not count towards coverage, and so is twice as fast.

    For those that do what measured ones do as well, or end by a kill, which no measure survives.
    """
    environment = child_environment(**settings)
    environment.pop(_MEASURED_BY, None)
    return environment
