"""README.md names what people must be able to look up."""

from collections.abc import Iterator
from pathlib import Path

from app.errors import Refusal
from app.runtime.settings import Settings, environment_variable

README = Path(__file__).parents[2] / "README.md"


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
