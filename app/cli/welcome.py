"""What ``fleet up`` says once it serves: where, and calls that are ready to be pasted."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from app.runtime.settings import default_data_dir


def welcome(url: str, fleet_file: Path) -> Iterator[str]:
    """Write the lines; the tokens stay in their file, where the calls read them."""
    yield f"The fleet coordinator serves at {url}"
    yield f"Tokens: {fleet_file} (only you may read it)"
    yield "Ready to paste:"
    yield f"  {_token('client', fleet_file)}"
    yield f"  {_token('ops', fleet_file)}"
    yield (
        f'  curl -s {url}/jobs -H "Authorization: Bearer $CLIENT"'
        " -H 'Content-Type: application/json' -d '{\"kind\": \"hello\"}'"
    )
    yield f'  curl -s {url}/jobs -H "Authorization: Bearer $CLIENT"'
    yield f'  curl -s {url}/factories -H "Authorization: Bearer $OPS"'
    where = where_it_is(fleet_file.parent)
    yield f"  {program()} jobs{where}"
    yield f"  {program()} factory run{where} --id f1 --exec cat"
    yield f"  curl -s '{url}/explain?factory_id=f1' -H \"Authorization: Bearer $OPS\""


def where_it_is(data_dir: Path) -> str:
    """Write the flag that leads a command to the data folder, if it needs one."""
    return "" if data_dir == default_data_dir() else f" --data-dir {shlex.quote(str(data_dir))}"


def program() -> str:
    """Name this program as it can be called from here: by its path unless a shell finds it."""
    called = Path(sys.argv[0])
    if called.name != "fleet" or shutil.which("fleet") is not None:
        return "fleet"
    return shlex.quote(str(called))


def _token(role: str, fleet_file: Path) -> str:
    """Write a line of shell that reads a token out of the file."""
    pattern = rf's/.*"{role}": "\(.*\)".*/\1/p'
    return f"{role.upper()}=$(sed -n {shlex.quote(pattern)} {shlex.quote(str(fleet_file))})"
