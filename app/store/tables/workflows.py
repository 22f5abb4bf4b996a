"""Projects and workflows: what the workflow tick works on."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Text, text
from sqlmodel import Field, SQLModel

from app.store.tables.columns import texts_column, time_column


class ProjectRow(SQLModel, table=True):
    """Where workflows do their work, and how their jobs are submitted."""

    __tablename__ = "project"

    id: UUID = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    name: str = Field(sa_column=Column(Text, nullable=False, unique=True))
    local_directory: str | None = Field(default=None, sa_type=Text)
    repo: str | None = Field(default=None, sa_type=Text)
    required: list[str] = Field(sa_column=texts_column())
    prefers_engine: str | None = Field(default=None, sa_type=Text)
    priority: str = Field(sa_type=Text)
    cost_class: str = Field(sa_type=Text)
    timeout_s: int
    attempts_max: int
    pause_reason: str | None = Field(default=None, sa_type=Text)
    pause_by: str | None = Field(default=None, sa_type=Text)
    pause_until: datetime | None = Field(default=None, sa_column=time_column())
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=time_column(nullable=False, now=True))


class WorkflowRow(SQLModel, table=True):
    """A workflow. Whoever changes it compares ``version`` and adds one.

    ``processing`` lasts from the submission of a stage's job, ``job_id``, to the end of that job.
    ``finished_at`` is set where nothing leads on; what a tick looks at is all the others.
    """

    __tablename__ = "workflow"

    id: UUID = Field(primary_key=True)
    project_id: UUID = Field(
        sa_column=Column(ForeignKey("project.id", ondelete="CASCADE"), nullable=False, index=True)
    )
    version: int = Field(sa_type=BigInteger, sa_column_kwargs={"server_default": text("1")})
    kind: str = Field(sa_type=Text)
    title: str = Field(sa_type=Text)
    prompt: str = Field(sa_type=Text)
    position: int = Field(sa_type=BigInteger)
    status: str = Field(sa_type=Text)
    processing: bool = Field(sa_column_kwargs={"server_default": text("false")})
    auto_run: bool = Field(sa_column_kwargs={"server_default": text("false")})
    run_requested: bool = Field(sa_column_kwargs={"server_default": text("false")})
    pr_url: str | None = Field(default=None, sa_type=Text)
    review: str = Field(sa_type=Text)
    review_at: datetime | None = Field(default=None, sa_column=time_column())
    review_comments: list[str] = Field(sa_column=texts_column())
    tracks_after_merge: bool = Field(sa_column_kwargs={"server_default": text("false")})
    has_uat: bool = Field(sa_column_kwargs={"server_default": text("false")})
    uat_test_at: datetime | None = Field(default=None, sa_column=time_column())
    merged_at: datetime | None = Field(default=None, sa_column=time_column())
    stage_attempt: int = Field(sa_column_kwargs={"server_default": text("0")})
    stage_failures: int = Field(sa_column_kwargs={"server_default": text("0")})
    needs_human_reason: str | None = Field(default=None, sa_type=Text)
    pause_reason: str | None = Field(default=None, sa_type=Text)
    pause_by: str | None = Field(default=None, sa_type=Text)
    pause_until: datetime | None = Field(default=None, sa_column=time_column())
    clone_key: str | None = Field(default=None, sa_type=Text)
    job_id: UUID | None = None
    finished_at: datetime | None = Field(default=None, sa_column=time_column())
    created_at: datetime = Field(sa_column=time_column(nullable=False, now=True))
    updated_at: datetime = Field(sa_column=time_column(nullable=False, now=True))

    __table_args__ = (
        # What every tick reads, however many are finished.
        Index(
            "ix_workflow_open",
            "position",
            "id",
            postgresql_where=text("finished_at is null or processing"),
        ),
        # Lists, and the place of a new one.
        Index("ix_workflow_position", "position", "id"),
    )
