"""Named statements: one ``.sql`` file each, whose first comment line says what it does."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    """Return the text of ``app/store/statements/<name>.sql``."""
    return files("app.store").joinpath("statements", f"{name}.sql").read_text(encoding="utf-8")
