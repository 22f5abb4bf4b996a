import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runtime.ids import new_token
from app.runtime.logs import redact, set_up_logs


@pytest.fixture
def restored_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def leak(token: str) -> None:
    message = f"cannot use {token}"
    raise ValueError(message)


@pytest.mark.usefixtures("restored_logs")
@pytest.mark.parametrize("as_json", [False, True])
def test_no_token_gets_into_a_log(as_json: bool) -> None:
    token, stream = new_token(), io.StringIO()
    set_up_logs(level="info", as_json=as_json, stream=stream)
    log = logging.getLogger("test")
    log.info("as argument: %s", token)
    log.info("as text: %s", f"Bearer {token}, next", extra={"given": token})
    try:
        leak(token)
    except ValueError:
        log.exception("in an exception")
    written = stream.getvalue()
    assert token not in written
    assert written.count("fleet_***") >= 4


@given(st.text(), st.text())
def test_a_token_is_masked_wherever_it_stands(before: str, after: str) -> None:
    token = new_token()
    assert token not in redact(f"{before}{token}{after}")


def test_the_password_of_a_url_is_masked() -> None:
    assert redact("at postgresql://me:hush@db/fleet?x=1 now") == (
        "at postgresql://me:***@db/fleet?x=1 now"
    )


@pytest.mark.usefixtures("restored_logs")
def test_a_json_line_is_one_object_with_its_extras() -> None:
    stream = io.StringIO()
    set_up_logs(level="info", as_json=True, stream=stream)
    logging.getLogger("test").info("two\nlines", extra={"job_id": 7})
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert (entry["level"], entry["logger"]) == ("info", "test")
    assert (entry["message"], entry["job_id"]) == ("two\nlines", 7)
    assert entry["time"].endswith("Z")


@pytest.mark.usefixtures("restored_logs")
def test_a_plain_line_reads_well() -> None:
    stream = io.StringIO()
    set_up_logs(level="warning", as_json=False, stream=stream)
    log = logging.getLogger("test")
    log.info("too quiet")
    log.warning("told", extra={"job_id": 7}, stack_info=True)
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("WARNING test  told job_id=7")
    assert rest[0].startswith("Stack")


@pytest.mark.usefixtures("restored_logs")
def test_setting_up_twice_writes_once_and_unknown_levels_are_refused() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up_logs(level="info", as_json=False, stream=first)
    set_up_logs(level="INFO", as_json=True, stream=second)
    logging.getLogger("test").info("once", stack_info=True)
    assert first.getvalue() == ""
    assert "stack" in json.loads(second.getvalue())
    with pytest.raises(ValueError, match="LOUD"):
        set_up_logs(level="loud", as_json=False)
