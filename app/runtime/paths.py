"""Real paths: the one question about clones that only the disk can answer."""

from pathlib import Path


def real_path(folder: str) -> str:
    """Return the real path of ``folder``, or the expanded path if there is no such folder.

    ``~`` is expanded, ``..`` and a slash at the end disappear, symbolic links are followed as far
    as they exist. What cannot be followed (links in a ring, no home for that name) stands for
    itself.
    """
    try:
        return str(Path(folder).expanduser().resolve())
    except (OSError, RuntimeError):
        return str(Path(folder).absolute())
