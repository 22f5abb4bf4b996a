"""What can go wrong between a caller and the coordinator.

::

    FleetError
    ├── Problem        the coordinator answered, and said no (RFC 9457)
    ├── Unreachable    there was no answer, as often as was tried
    └── NotAFleet      something answered, but not a coordinator
"""

import httpx
from pydantic import ValidationError

from app.masking import mask
from app.wire.problems import FieldError
from app.wire.problems import Problem as ProblemBody


class FleetError(Exception):
    """A call that did not succeed; the text is one sentence for people."""


class Unreachable(FleetError):  # noqa: N818 - it reads as what happened
    """No answer came: refused, cut, or too late, at every try."""

    def __init__(self, url: str, reason: Exception) -> None:
        """Keep the address that was tried, and say what happened at the last try."""
        said = " ".join(str(reason).split()) or type(reason).__name__
        # An address may hold a password, and what a library says of a request its headers.
        super().__init__(mask(f"no coordinator answers at {url} ({said})"))
        self.url = url


class NotAFleet(FleetError):  # noqa: N818 - the same
    """The answer is none that a coordinator gives."""


class Problem(FleetError):  # noqa: N818 - the word of RFC 9457
    """The coordinator refused; ``slug`` is the stable name of the reason."""

    def __init__(self, body: ProblemBody, *, retry_after_s: float | None = None) -> None:
        """Wrap the body of the answer."""
        super().__init__(_sentence(body))
        self.body = body
        self.retry_after_s = retry_after_s

    @classmethod
    def of(cls, response: httpx.Response) -> "Problem":
        """Read a refusal; a body that is no problem document (a proxy's page) still makes one."""
        try:
            body = ProblemBody.model_validate_json(response.content)
        except ValidationError:
            body = ProblemBody(
                type="about:blank",
                title=response.reason_phrase or "Refused",
                status=response.status_code,
                detail=f"The answer was {response.status_code} {response.reason_phrase}.",
            )
        return cls(body, retry_after_s=retry_after_s(response))

    @property
    def type(self) -> str:
        """The stable name of the problem as the address of its page."""
        return self.body.type

    @property
    def slug(self) -> str:
        """The last part of the type, such as ``stale-fence``."""
        return self.body.type.rpartition("/")[2]

    @property
    def status(self) -> int:
        """The status code of the answer."""
        return self.body.status

    @property
    def detail(self) -> str:
        """What happened this time, in a sentence."""
        return self.body.detail

    @property
    def errors(self) -> list[FieldError]:
        """The fields that are not valid, with what is wrong with each."""
        return self.body.errors

    @property
    def extensions(self) -> dict[str, object]:
        """The members beside those of every problem, such as ``current_version``."""
        return dict(self.body.model_extra or {})


def retry_after_s(response: httpx.Response) -> float | None:
    """Read ``Retry-After`` in seconds; a date, which the coordinator never sends, is none."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", "")))
    except ValueError:
        return None


def _sentence(body: ProblemBody) -> str:
    """Write the refusal with its reasons, field by field, in one line; nothing is said twice."""
    detail = body.detail or body.title
    faults = [f"{each.field}: {each.message}" for each in body.errors]
    if detail in faults:
        return "; ".join(faults)
    if len(body.errors) == 1 and _named(body.errors[0], detail):
        faults = []
    reasons = (body.model_extra or {}).get("reasons")
    more = [*faults, *(map(str, reasons) if isinstance(reasons, list) else ())]
    return f"{detail.rstrip('.')} ({'; '.join(more)})" if more else detail


def _named(fault: FieldError, detail: str) -> bool:
    """Tell whether a sentence says already what is wrong, or with which field."""
    return fault.message.rstrip(".") == detail.rstrip(".") or fault.field in detail.split()
