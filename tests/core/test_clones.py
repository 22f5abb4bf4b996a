"""Clone-key normalisation; the resolver that looks at the disk is tested where it lives."""

import pytest

from app.planner import clone_key, clone_keys
from tests.core.workflow_world import make_project, make_workflow, project_id, running

REAL = {"/src/shop": "/disk/shop", "~/shop": "/disk/shop", "/src/../src/shop/": "/disk/shop"}


def resolve(folder: str) -> str:
    return REAL.get(folder, folder)


@pytest.mark.parametrize("folder", REAL)
def test_names_of_one_folder_are_one_clone(folder: str) -> None:
    project = make_project(local_directory=folder, repo="shop")

    assert clone_key(project, resolve) == "/disk/shop"


def test_a_missing_folder_is_known_by_its_expanded_path() -> None:
    assert clone_key(make_project(local_directory="/gone"), resolve) == "/gone"


@pytest.mark.parametrize("none", [None, "", "  "])
def test_without_a_folder_it_is_the_lock_of_the_repo_else_a_name_of_its_own(
    none: str | None,
) -> None:
    assert clone_key(make_project(local_directory=none, repo="shop"), resolve) == "repo:shop"
    assert clone_key(make_project(7, local_directory=none), resolve) == f"project:{project_id(7)}"


def test_projects_of_one_folder_share_its_key() -> None:
    projects = [make_project(1, local_directory="~/shop"), make_project(2, local_directory="/b")]
    twin = make_project(3, local_directory="/src/shop")

    assert clone_keys([*projects, twin], [], resolve) == {
        project_id(1): "/disk/shop",
        project_id(2): "/b",
        project_id(3): "/disk/shop",
    }


def test_a_clone_with_an_agent_in_it_is_known_by_the_key_the_agent_was_started_under() -> None:
    """Another machine started it, where the folder has another real path."""
    projects = [make_project(1, local_directory="/src/shop"), make_project(2), make_project(3)]
    twin = make_project(4, local_directory="~/shop")
    there = running(1, clone_key="/mnt/shop")
    waiting = make_workflow(2, project_id=project_id(2), clone_key="/old")
    fresh = running(3, project_id=project_id(3))

    assert clone_keys([*projects, twin], [there, waiting, fresh], resolve) == {
        project_id(1): "/mnt/shop",
        project_id(2): "/src/p2",
        project_id(3): "/src/p3",
        project_id(4): "/mnt/shop",
    }


def test_a_key_that_an_agent_was_started_under_here_needs_no_other_name() -> None:
    agents = [running(1, clone_key="/mnt/shop"), running(2, clone_key="/disk/shop")]
    project = make_project(local_directory="/src/shop")

    assert clone_keys([project], agents, resolve) == {project.id: "/disk/shop"}
