"""Real paths of clones, on a real disk."""

from pathlib import Path

import pytest

from app.planner import clone_key
from app.runtime.paths import real_path
from tests.core.workflow_world import make_project


def key(folder: object) -> str:
    return clone_key(make_project(local_directory=str(folder)), real_path)


def test_a_link_dots_and_a_slash_at_the_end_lead_to_the_same_clone(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    shop = str((real / "shop").resolve())

    assert key(real / "shop") == shop
    assert key(tmp_path / "link" / "shop") == shop
    assert key(f"{real}/shop/") == shop
    assert key(f"{real}/shop/../shop/.") == shop
    assert key(f"  {real}/shop ") == shop


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))

    assert key("~/shop") == str((tmp_path / "shop").resolve())


def test_a_missing_folder_is_its_expanded_path(tmp_path: Path) -> None:
    assert key(tmp_path / "a" / ".." / "gone") == str(tmp_path.resolve() / "gone")


def test_what_cannot_be_followed_stands_for_itself(tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    ring.symlink_to(ring)

    assert key(ring) == str(ring)
    assert key("~nobody-of-that-name/shop").endswith("/~nobody-of-that-name/shop")
