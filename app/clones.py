"""Which clone is it? What the working tree of a project is known by.

Two agents in one working tree spoil each other's work, and one tree has many names: a symbolic
link, a ``~``, a ``..``, a slash at the end. So raw paths are never compared, only the keys made
here; the path resolver, which must look at the disk, is an argument.
"""

from collections.abc import Callable, Iterable

from app.workflow import Project, ProjectId, Workflow, in_order

Resolve = Callable[[str], str]
"""Gives the real path of a folder, ``~`` expanded, or the expanded path if there is no such one."""


def clone_key(project: Project, resolve: Resolve) -> str:
    """Return what the project's clone is known by.

    The real path of its folder, else the chain's lock of its repo (so that the two ticks exclude
    each other there), else a name of its own.
    """
    folder = (project.local_directory or "").strip()
    if folder:
        return resolve(folder)
    if project.repo:
        return f"repo:{project.repo}"
    return f"project:{project.id}"


def clone_keys(
    projects: Iterable[Project], workflows: Iterable[Workflow], resolve: Resolve
) -> dict[ProjectId, str]:
    """Return the clone key of every project, as of now.

    Real paths differ between machines. A clone with an agent in it is known by the key that the
    agent was started under, so a key that this machine would give it stands for that one.
    """
    here = {project.id: clone_key(project, resolve) for project in projects}
    started: dict[str, str] = {}
    for workflow in in_order(each for each in workflows if each.processing):
        key = here[workflow.project_id]
        started.setdefault(key, workflow.clone_key or key)
        if workflow.clone_key == key:
            started[key] = key
    return {project_id: started.get(key, key) for project_id, key in here.items()}
