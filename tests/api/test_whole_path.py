"""The whole path over real HTTP: submit, claim, renew, complete, explain."""

from tests.support.api import Fleet
from tests.support.whole_path import walk


async def test_a_job_goes_from_submission_to_success(served: Fleet) -> None:
    await walk(served)
