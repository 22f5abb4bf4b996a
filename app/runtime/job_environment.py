"""What a command that runs for a job finds in its environment."""

import os


def job_kind() -> str:
    """Read the kind of the job, as ``fleet factory run`` hands it over."""
    return os.environ["FLEET_JOB_KIND"]
