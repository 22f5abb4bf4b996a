"""The environment tests run in: read here and nowhere else."""

import os

HYPOTHESIS_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
"""``dev`` (quick), ``ci`` (the same examples every time) or ``deep`` (a hunt of minutes)."""

ADMIN_URL = os.environ.get("FLEET_TEST_DATABASE_URL")
"""A PostgreSQL where the suite may create databases; embedded PostgreSQL if not given."""

DEBIAN_REQUIRED = os.environ.get("FLEET_TEST_DEBIAN") == "required"
"""Whether tests that need Debian's PostgreSQL and PgBouncer fail without them; else left out."""


_MEASURED_BY = "COVERAGE_PROCESS_CONFIG"


def child_environment(*, measured: bool = True, **settings: str) -> dict[str, str]:
    """Make the environment of a process under test: ours, without settings of the machine.

    Args:
        measured: it counts towards coverage, for which it takes twice the time; False where it
            does what measured ones do as well, or ends by a kill, which no measure survives.
        settings: settings to give it, as ``FLEET_…="…"``.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("FLEET_")}
    if not measured:
        inherited.pop(_MEASURED_BY, None)
    return inherited | settings
