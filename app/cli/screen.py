"""What commands print: tables for people, JSON for programs, one sentence for an error."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.fleet import Json

_PIPED_WIDTH = 180
"""Wide enough for every column, where no terminal says how wide it is."""


def console(*, to_stderr: bool = False) -> Console:
    """Open standard output (or error) for people; nothing in what is shown is taken as markup."""
    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def emit_json(value: BaseModel | Mapping[str, Json] | Sequence[BaseModel]) -> None:
    """Print JSON to standard output."""
    if isinstance(value, BaseModel):
        plain: object = value.model_dump(mode="json")
    elif isinstance(value, Mapping):
        plain = value
    else:
        plain = [each.model_dump(mode="json") for each in value]
    typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def warn(sentence: str) -> None:
    """Say something on standard error."""
    typer.echo(sentence, err=True)


def table(columns: Iterable[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Lay out a table; long cells wrap and nothing is cut off."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name == "id")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def pairs(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Lay out names and values, one pair a line."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), Text(value) if isinstance(value, str) else value)
    return made


def one_line(text: str, longest: int = 60) -> str:
    """Write a text of any length on one line; what does not fit is cut off."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def moment(value: datetime | None) -> str:
    """Write a time to the second, in UTC; a dash for none."""
    return value.strftime("%Y-%m-%d %H:%M:%SZ") if value else "-"
