"""The house rules that no other tool checks. Each failure names its place and the rule."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APP = ROOT / "app"
TESTS = ROOT / "tests"
IMPURE = {"__init__.py", "__main__.py", "main.py"}

FUNCTION_LINES_MAX = 50
APP_FILE_LINES_MAX = 300
TEST_FILE_LINES_MAX = 400


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def pure_files() -> list[Path]:
    return sorted(path for path in APP.glob("*.py") if path.name not in IMPURE)


def nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(ast.parse(path.read_text(), filename=str(path)))


def place(path: Path, line: int | None = None) -> str:
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"


def test_a_pure_file_has_no_coroutine() -> None:
    found = [
        place(path, node.lineno)
        for path in pure_files()
        for node in nodes(path)
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith))
    ]
    assert found == [], "decisions wait for nothing: await in a use case and pass the value in"


def test_a_function_fits_a_screen() -> None:
    found = [
        f"{place(path, node.lineno)} {node.name}: {length} lines"
        for path in files(APP)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert found == [], f"at most {FUNCTION_LINES_MAX} lines: name a part of it"


@pytest.mark.parametrize(
    ("folder", "most"), [(APP, APP_FILE_LINES_MAX), (TESTS, TEST_FILE_LINES_MAX)]
)
def test_a_file_has_one_subject(folder: Path, most: int) -> None:
    found = [
        f"{place(path)}: {length} lines"
        for path in files(folder)
        if (length := len(path.read_text().splitlines())) > most
    ]
    assert found == [], f"at most {most} lines: split the file by what it speaks of"


def test_every_file_at_the_root_of_app_is_in_the_purity_contract() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    (purity,) = [each for each in contracts if each["id"] == "purity"]
    listed = set(purity["source_modules"])
    assert listed == {f"app.{path.stem}" for path in pure_files()}, (
        "a file directly in app/ is pure: list it in [[tool.importlinter.contracts]] id = purity"
    )


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    words = {"skip", "skipif", "xfail", "importorskip"}
    found = [
        f"{place(path, node.lineno)} {node.attr}"
        for path in files(TESTS)
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in words
    ]
    assert found == [], "a test that does not run proves nothing: make it run or remove it"


def test_nothing_is_mocked_and_nothing_sleeps_in_tests() -> None:
    found = [
        f"{place(path)} {name}"
        for path in files(TESTS)
        for node in nodes(path)
        for name in forbidden_names(node)
    ]
    assert found == [], "use the real thing, and wait for a signal instead of a time"


def forbidden_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module="unittest.mock" | "unittest"):
            yield "unittest.mock"
        case ast.Import(names=names) if any(each.name.startswith("unittest") for each in names):
            yield "unittest"
        case ast.Call(args=[ast.Constant(value=0)]):  # asyncio.sleep(0) only gives others a turn
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="time" | "asyncio" as module), attr="sleep")
        ):
            yield f"{module}.sleep"
        case _:
            pass


def test_the_lock_file_pins_with_hashes_and_holds_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    logical = text.replace("\\\n", " ").splitlines()
    pins = [line for line in logical if line and not line.startswith("#")]
    assert pins
    loose = [line[:60] for line in pins if "==" not in line or "--hash=sha256:" not in line]
    assert loose == [], "run make lock"


def test_the_migrations_folder_is_no_package() -> None:
    assert not (ROOT / "alembic" / "__init__.py").exists(), "it would shadow the library"
