"""Named statements: one ``.sql`` file each, whose first comment line says what it does.

A statement may be made of others: ``{name}`` stands for that statement, and ``{name+5}`` for it
with its parameters counted from $6 on.
"""

import re
from functools import cache
from importlib.resources import files

_PART = re.compile(r"\{(\w+)(?:\+(\d+))?\}")
_PARAMETER = re.compile(r"\$(\d+)")


@cache
def sql(name: str) -> str:
    """Return the text of ``app/store/statements/<name>.sql``."""
    text = files("app.store").joinpath("statements", f"{name}.sql").read_text(encoding="utf-8")
    return _PART.sub(_part, text)


def _part(found: re.Match[str]) -> str:
    offset = int(found[2] or 0)
    return _PARAMETER.sub(lambda each: f"${int(each[1]) + offset}", sql(found[1]))
