from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings

from app.runtime.client_settings import ClientSettings
from app.runtime.settings import Settings, default_data_dir, environment_variable


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.delenv(environment_variable(field), raising=False)


def test_a_home_is_found_where_no_shell_expands_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("FLEET_DATA_DIR", "~/fleet")
    for settings in (Settings(), ClientSettings()):
        assert settings.data_dir == Path("/home/ann/fleet")


@pytest.mark.parametrize("written", ["fleet_x", "fleet_x\n", "fleet_x\r\n"])
def test_the_line_break_after_a_secret_is_none_of_it(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("FLEET_TOKEN", written)
    token = ClientSettings().token
    assert token is not None
    assert token.get_secret_value() == "fleet_x"


def test_nothing_needs_to_be_set() -> None:
    settings = Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8420)
    assert settings.database_url is None
    assert settings.direct_url is None


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_every_usual_spelling_of_a_database_url(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("FLEET_DATABASE_URL", f"{scheme}://me:hush@db/fleet")
    settings = Settings()
    assert settings.database_url == "postgresql://me:hush@db/fleet"
    assert settings.direct_url == settings.database_url
    assert "hush" not in repr(settings)


def test_the_direct_url_is_the_one_for_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_DATABASE_URL", "postgresql://pooler/fleet")
    monkeypatch.setenv("FLEET_LISTEN_URL", "postgresql://direct/fleet")
    assert Settings().direct_url == "postgresql://direct/fleet"


def test_a_wrong_url_is_refused_without_repeating_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLEET_DATABASE_URL", "mysql://me:hush@db/fleet")
    with pytest.raises(ValidationError, match="postgresql://") as caught:
        Settings()
    assert "hush" not in str(caught.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]  # what this test is about


SECRETS = [
    (settings, name)
    for settings in (Settings, ClientSettings)
    for name, field in settings.model_fields.items()
    if "SecretStr" in str(field.annotation)
]


@pytest.mark.parametrize(("settings", "name"), SECRETS)
@pytest.mark.parametrize("nothing", ["", " ", "\n"])
def test_an_empty_secret_is_none(
    monkeypatch: pytest.MonkeyPatch, settings: type[BaseSettings], name: str, nothing: str
) -> None:
    monkeypatch.setenv(environment_variable(name), nothing)
    assert getattr(settings(), name) is None
    assert getattr(settings.model_validate({name: SecretStr(nothing)}), name) is None


def test_a_secret_is_kept_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for _, name in SECRETS} >= {"github_webhook_secret", "github_token", "token"}
    monkeypatch.setenv("FLEET_GITHUB_TOKEN", " hush ")
    kept = Settings().github_token
    assert kept is not None
    assert (kept.get_secret_value(), "hush" in repr(kept)) == (" hush ", False)


def test_the_data_folder_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "x"))
    assert default_data_dir() == tmp_path / "x" / "fleet"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / ".local" / "share" / "fleet"


def test_the_data_folder_of_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert default_data_dir() == Path("/var/lib/fleet")
