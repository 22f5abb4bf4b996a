"""Projects: where workflows do their work."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from app.fleet import CostClass, Priority
from app.wire.job_fields import ID_EXAMPLE, Attempts, TimeoutSeconds
from app.wire.values import (
    TEXT_MAX,
    Moment,
    Name,
    Omissible,
    Reply,
    Request,
    StandingReply,
    Word,
    Words,
    never_null,
)

Folder = Annotated[
    str, StringConstraints(min_length=1, max_length=TEXT_MAX, pattern=r"^[^\x00-\x1f\x7f]+$")
]
_FOLDER = "The folder that is worked in, as factories know it; `~`, `..` and links are followed."
_REPO = "The repo of the feature chain that it works on; both ticks then take turns there."
_DEFAULTS_EXAMPLE = {"priority": "high", "timeout_s": 7200}


class JobDefaults(Request):
    """How the jobs of a project are submitted."""

    prefers_engine: Word | None = Field(
        default=None, description="The engine that suits them best.", examples=["claude"]
    )
    priority: Priority = Field(
        default=Priority.NORMAL, description="Decides between equal scores.", examples=["high"]
    )
    cost_class: CostClass = Field(
        default=CostClass.LOW, description="What they cost to run.", examples=["low"]
    )
    timeout_s: TimeoutSeconds = Field(
        default=4 * 3600, description="How long one attempt may take.", examples=[7200]
    )
    max_attempts: Attempts = Field(
        default=3, description="How often one is tried before it is dead.", examples=[3]
    )


class ProjectCreate(Request):
    """A project to be created (``POST /projects``)."""

    name: Name = Field(description="What people call it; unique.", examples=["shop"])
    local_directory: Folder | None = Field(
        default=None, description=_FOLDER, examples=["~/src/shop"]
    )
    repo: Name | None = Field(default=None, description=_REPO, examples=["shop"])
    required_capabilities: Words = Field(
        default_factory=list,
        description="What a factory must offer to do its jobs.",
        examples=[["docker"]],
    )
    job_defaults: JobDefaults = Field(
        default_factory=JobDefaults,
        description="How its jobs are submitted.",
        examples=[_DEFAULTS_EXAMPLE],
    )


class ProjectPatch(Request):
    """What is to change of a project; fields left out stay as they are."""

    name: Omissible[Name] = Field(
        default=None,
        description="The new name.",
        examples=["shop"],
        json_schema_extra=never_null,
    )
    local_directory: Folder | None = Field(
        default=None, description=_FOLDER + " Null removes it.", examples=["~/src/shop"]
    )
    repo: Name | None = Field(
        default=None, description=_REPO + " Null removes it.", examples=["shop"]
    )
    required_capabilities: Omissible[Words] = Field(
        default=None,
        description="Replaces the whole list.",
        examples=[["docker"]],
        json_schema_extra=never_null,
    )
    job_defaults: Omissible[JobDefaults] = Field(
        default=None,
        description="Replaces all of them; a member left out takes its default.",
        examples=[_DEFAULTS_EXAMPLE],
        json_schema_extra=never_null,
    )


class JobDefaultsReply(Reply):
    """How the jobs of a project are submitted."""

    prefers_engine: str | None = Field(
        description="The engine that suits them best.", examples=["claude"]
    )
    priority: Priority = Field(description="Decides between equal scores.", examples=["high"])
    cost_class: CostClass = Field(description="What they cost to run.", examples=["low"])
    timeout_s: int = Field(description="The limit of one attempt.", examples=[7200])
    max_attempts: int = Field(description="Attempts before one is dead.", examples=[3])


class ProjectReply(Reply):
    """A project."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[ID_EXAMPLE])
    version: int = Field(description="Grows with every change; the `ETag`.", examples=[2])
    name: str = Field(description="What people call it.", examples=["shop"])
    local_directory: str | None = Field(
        description="The folder that is worked in.", examples=["~/src/shop"]
    )
    repo: str | None = Field(description="The repo that it works on.", examples=["shop"])
    required_capabilities: list[str] = Field(
        description="What a factory must offer, sorted.", examples=[["docker"]]
    )
    job_defaults: JobDefaultsReply = Field(description="How its jobs are submitted.")
    paused: StandingReply | None = Field(
        description="The pause it is under: nothing of it is started.", examples=[None]
    )
    created_at: Moment = Field(
        description="When it was created.", examples=["2026-03-01T09:00:00Z"]
    )
    updated_at: Moment = Field(
        description="When it last changed.", examples=["2026-03-01T09:30:00Z"]
    )


class ProjectPage(Reply):
    """One page of projects, the oldest first."""

    items: list[ProjectReply] = Field(description="The projects of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )
