"""Projects and workflows, the turn of the ticks, and the reasons beside their reports.

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision."""
    _create_project()
    _create_workflow()
    op.create_index(
        "ix_workflow_open",
        "workflow",
        ["position", "id"],
        postgresql_where=sa.text("finished_at is null or processing"),
    )
    op.create_index("ix_workflow_position", "workflow", ["position", "id"])
    op.create_index("ix_workflow_project_id", "workflow", ["project_id"])
    op.create_table(
        "tick_epoch",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
    )
    op.execute("insert into tick_epoch (name) values ('turn')")
    op.add_column(
        "tick",
        sa.Column(
            "reasons", postgresql.JSONB(), nullable=False, server_default=sa.text("'{}'::jsonb")
        ),
    )


def downgrade() -> None:
    """Undo this revision: the tables go, and everything in them."""
    op.drop_column("tick", "reasons")
    for table in ("tick_epoch", "workflow", "project"):
        op.drop_table(table)


def _create_project() -> None:
    op.create_table(
        "project",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _version(),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("local_directory", sa.Text()),
        sa.Column("repo", sa.Text()),
        _texts("required"),
        sa.Column("prefers_engine", sa.Text()),
        sa.Column("priority", sa.Text(), nullable=False),
        sa.Column("cost_class", sa.Text(), nullable=False),
        sa.Column("timeout_s", sa.Integer(), nullable=False),
        sa.Column("attempts_max", sa.Integer(), nullable=False),
        *_pause(),
        _time("created_at", now=True),
        _time("updated_at", now=True),
    )


def _create_workflow() -> None:
    op.create_table(
        "workflow",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column(
            "project_id",
            sa.Uuid(),
            sa.ForeignKey("project.id", ondelete="CASCADE"),
            nullable=False,
        ),
        _version(),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "title", "prompt")),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        *(_flag(name) for name in ("processing", "auto_run", "run_requested")),
        sa.Column("pr_url", sa.Text()),
        sa.Column("review", sa.Text(), nullable=False),
        _time("review_at"),
        _texts("review_comments"),
        *(_flag(name) for name in ("tracks_after_merge", "has_uat")),
        _time("uat_test_at"),
        _time("merged_at"),
        *(
            sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))
            for name in ("stage_attempt", "stage_failures")
        ),
        sa.Column("needs_human_reason", sa.Text()),
        *_pause(),
        sa.Column("clone_key", sa.Text()),
        sa.Column("job_id", sa.Uuid()),
        _time("finished_at"),
        _time("created_at", now=True),
        _time("updated_at", now=True),
    )


def _version() -> sa.Column[int]:
    return sa.Column("version", sa.BigInteger(), nullable=False, server_default=sa.text("1"))


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text("false"))


def _texts(name: str) -> sa.Column[list[str]]:
    return sa.Column(
        name, postgresql.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'::text[]")
    )


def _pause() -> tuple[sa.Column[str], sa.Column[str], sa.Column[object]]:
    return (
        sa.Column("pause_reason", sa.Text()),
        sa.Column("pause_by", sa.Text()),
        _time("pause_until"),
    )


def _time(name: str, *, now: bool = False) -> sa.Column[object]:
    return sa.Column(
        name,
        sa.DateTime(timezone=True),
        nullable=not now,
        server_default=sa.text("now()") if now else None,
    )
