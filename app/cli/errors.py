"""How a command ends that did not do what it was asked: one sentence, no traceback.

Exit codes: 0 done, 1 an error, 2 accepted although nobody can take it now.
"""

from pydantic import ValidationError

from app.errors import Refusal
from app.runtime.client_settings import ClientSettings
from app.runtime.settings import Settings, environment_variable
from app.sdk import FleetError
from app.wire.faults import faults_of

_SETTINGS = frozenset({Settings.__name__, ClientSettings.__name__})
"""Their fields are known by the names of environment variables."""


class CliError(Exception):
    """The command cannot be done; the text is the sentence that says why."""


class NobodyCanTakeItError(Exception):
    """The job was accepted, but no known factory could ever take it: exit code 2."""


def sentence(error: Exception) -> str:
    """Say what went wrong in one sentence."""
    if isinstance(error, Refusal):
        return error.detail
    if isinstance(error, ValidationError):
        named = environment_variable if error.title in _SETTINGS else str
        return "; ".join(faults_of(error, named))
    if isinstance(error, CliError | FleetError | RuntimeError | OSError):
        return " ".join(str(error).split()) or type(error).__name__
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
