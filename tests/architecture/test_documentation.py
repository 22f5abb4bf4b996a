"""README.md names what people must be able to look up, and app/README.md is a map of all of it."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.errors import Refusal
from app.runtime.settings import Settings, environment_variable

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def refusals(above: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for each in above.__subclasses__():
        yield each
        yield from refusals(each)


def test_every_setting_is_described_where_it_is_declared() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_every_setting_is_in_the_readme() -> None:
    readme = README.read_text()
    names = map(environment_variable, Settings.model_fields)
    assert [each for each in names if f"`{each}`" not in readme] == []


def test_every_problem_type_is_in_the_readme() -> None:
    readme = README.read_text()
    assert [each.slug for each in refusals() if f"`{each.slug}`" not in readme] == []


def test_the_map_has_every_root_file_and_every_folder_of_app_and_nothing_else() -> None:
    app = ROOT / "app"
    there = {each.name for each in app.glob("*.py")} - {"__init__.py"}
    there |= {f"{each.parent.name}/" for each in app.glob("*/__init__.py")}
    text = (app / "README.md").read_text()
    listed = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = re.findall(r"`([^`]+)`", " ".join(listed))
    assert set(named) | {"main.py", "__main__.py"} == there, "app/README.md is the map"
    assert len(named) == len(set(named)), "each is in one place of the map"
    assert "`main.py` and `__main__.py`" in text
