"""The tree of refusals: every way in which the coordinator says no to a call.

A refusal is raised by a use case and becomes an ``application/problem+json`` answer at the HTTP
border, where one table gives each its status. "Nothing to do just now" is never a refusal but a
value (a scheduler that finds no job, a lost lease in a batch).

::

    Refusal
    ├── Invalid                 what was asked cannot be right          422
    │   ├── DependencyCycle
    │   └── UnknownDependency
    ├── NotFound                                                        404
    ├── Unauthenticated                                                 401
    ├── Forbidden                                                       403
    ├── Conflict                it was right, but not now               409
    │   ├── StaleFence
    │   ├── ImpossibleTransition
    │   ├── LostRace
    │   ├── ClaimKeySpent
    │   ├── IdempotencyMismatch
    │   └── FactoryBusy
    ├── VersionMismatch         If-Match names another version          412
    ├── VersionRequired         If-Match is missing                     428
    └── Unavailable             our own overload, or no database        503

``extensions`` are members of the problem document (RFC 9457 §3.2) beside its ``detail``.
"""

from typing import ClassVar, TypeAlias

Extension: TypeAlias = "dict[str, Extension] | list[Extension] | str | int | float | bool | None"
"""What a member of a problem document may hold: anything that JSON can."""


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error of the program
    """A call was refused; ``slug`` is the stable name of the reason and of its page."""

    slug: ClassVar[str] = "refused"
    title: ClassVar[str] = "The call was refused"

    def __init__(self, detail: str, **extensions: Extension) -> None:
        """Say ``detail`` to the caller, with members that a program can read beside it."""
        super().__init__(detail)
        self.detail = detail
        self.extensions = extensions


class Invalid(Refusal):
    """What was asked contradicts itself or the stored facts; ``errors`` names the fields."""

    slug = "invalid-request"
    title = "The request is not valid"


class DependencyCycle(Invalid):
    """The jobs of a request would wait for each other for ever; ``cycle`` names the ring."""

    slug = "dependency-cycle"
    title = "The jobs depend on each other in a ring"


class UnknownDependency(Invalid):
    """A job depends on one that does not exist."""

    slug = "unknown-dependency"
    title = "A job depends on one that does not exist"


class NotFound(Refusal):
    """No such thing under that id."""

    slug = "not-found"
    title = "There is no such thing"


class Unauthenticated(Refusal):
    """No token, or one that is unknown, expired or revoked."""

    slug = "unauthenticated"
    title = "A valid token is needed"


class Forbidden(Refusal):
    """The token's role, or the factory it is bound to, does not allow this."""

    slug = "forbidden"
    title = "This token may not do that"


class Conflict(Refusal):
    """The call was well-formed, but what it asks is not possible in the present state."""

    slug = "conflict"
    title = "Not possible in the present state"


class StaleFence(Conflict):
    """The fence is not open any more: the job or its lock went on without this holder."""

    slug = "stale-fence"
    title = "This lease is over"


class ImpossibleTransition(Conflict):
    """The state of the job or workflow does not allow this."""

    slug = "impossible-transition"
    title = "Its state does not allow this"


class LostRace(Conflict):
    """Something else changed the row first, as often as this call was willing to try."""

    slug = "lost-race"
    title = "Something else changed it first"


class ClaimKeySpent(Conflict):
    """The claim of this key was answered, and none of its leases is current any more."""

    slug = "claim-key-spent"
    title = "The leases of this claim are over"


class IdempotencyMismatch(Conflict):
    """The key was used for another request."""

    slug = "idempotency-key-reused"
    title = "This idempotency key belongs to another request"


class FactoryBusy(Conflict):
    """The factory still holds leases."""

    slug = "factory-busy"
    title = "The factory still holds leases"


class VersionMismatch(Refusal):
    """``If-Match`` names a version that is not the present one (``current_version``)."""

    slug = "version-mismatch"
    title = "It has changed since you read it"


class VersionRequired(Refusal):
    """The call changes a row and must name the version it means."""

    slug = "version-required"
    title = "If-Match is missing"


class Unavailable(Refusal):
    """The coordinator cannot answer now; ``retry_after_s`` says when to try again."""

    slug = "unavailable"
    title = "The coordinator cannot answer now"
