"""``fleet.json``: what ``fleet up`` tells the other commands on the same machine.

It holds tokens, so only its owner may read it, from the first byte on; and it is replaced whole,
so nobody ever reads half of it.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.cli.errors import CliError

NAME: Final = "fleet.json"


class FleetTokens(BaseModel):
    """A token for each kind of caller on this machine."""

    model_config = ConfigDict(frozen=True)

    ops: str = Field(repr=False)
    client: str = Field(repr=False)
    cron: str = Field(repr=False)


class FleetFile(BaseModel):
    """The coordinator of a data folder."""

    model_config = ConfigDict(frozen=True)

    url: str
    database_url: str = Field(repr=False)
    tokens: FleetTokens


def read_fleet_file(data_dir: Path) -> FleetFile | None:
    """Read the file of a data folder, if there is one.

    Raises:
        CliError: there is one, but it is not ours to read or not what it should be.
    """
    path = data_dir / NAME
    try:
        return FleetFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except PermissionError:
        message = f"{path} belongs to another user: set FLEET_URL and FLEET_TOKEN"
        raise CliError(message) from None
    except ValidationError:
        message = f"{path} is damaged: `fleet up` writes it anew"
        raise CliError(message) from None


def last_fleet_file(data_dir: Path) -> FleetFile | None:
    """Read the file of the last start; one that is damaged is as good as none."""
    try:
        return read_fleet_file(data_dir)
    except CliError:
        return None


def write_fleet_file(data_dir: Path, content: FleetFile) -> Path:
    """Write the file of a data folder; returns its path."""
    return write_private(
        data_dir / NAME, json.dumps(content.model_dump(), indent=2).encode() + b"\n"
    )


def write_private(path: Path, content: bytes) -> Path:
    """Replace a file by one that only its owner may read (mode 0600)."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    return path
