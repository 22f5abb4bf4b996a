"""Repos of the feature chain: settings, candidates, pull requests, issues, runs, deliveries.

Revision 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision."""
    _create_repo()
    _create_candidate()
    _create_pull_and_issue()
    _create_run()
    _create_delivery()


def downgrade() -> None:
    """Undo this revision: the tables go, and everything in them."""
    for table in (
        "webhook_delivery",
        "repo_run",
        "repo_issue",
        "repo_pull",
        "repo_candidate",
        "repo",
    ):
        op.drop_table(table)


def _time(name: str, *, nullable: bool = True, now: bool = False) -> sa.Column[object]:
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable, server_default=default)


def _text(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _flag(name: str, default: str = "false") -> sa.Column[object]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text(default))


def _number(name: str, default: str | None = None) -> sa.Column[object]:
    given = None if default is None else sa.text(default)
    return sa.Column(name, sa.Integer(), nullable=False, server_default=given)


def _version() -> sa.Column[object]:
    return sa.Column("version", sa.BigInteger(), nullable=False, server_default=sa.text("1"))


def _of_repo(*, key: bool = False) -> sa.Column[object]:
    return sa.Column(
        "repo_id",
        sa.Text(),
        sa.ForeignKey("repo.id", ondelete="CASCADE"),
        primary_key=key,
        nullable=False,
    )


def _create_repo() -> None:
    op.create_table(
        "repo",
        sa.Column("id", sa.Text(), primary_key=True),
        _version(),
        _flag("enabled", "true"),
        _text("objective", nullable=True),
        _text("focus", nullable=True),
        sa.Column("focus_candidate_id", sa.Uuid()),
        _flag("explore_enabled"),
        _text("explore_level"),
        _flag("pr_watching_enabled"),
        _flag("issue_solving_enabled"),
        _flag("issue_scout_enabled"),
        _number("daily_run_cap"),
        _number("cooldown_s"),
        _text("timezone"),
        _time("last_run_at"),
        _text("pause_reason", nullable=True),
        _text("pause_by", nullable=True),
        _time("pause_until"),
        sa.Column(
            "required_capabilities",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'::text[]"),
        ),
        sa.Column(
            "job_defaults",
            postgresql.JSONB(),
            nullable=False,
            server_default=sa.text("'{}'::jsonb"),
        ),
        _text("github", nullable=True),
        sa.Column("last_cycle", postgresql.JSONB()),
        _time("created_at", nullable=False, now=True),
        _time("updated_at", nullable=False, now=True),
    )
    op.create_index(
        "ix_repo_github",
        "repo",
        [sa.text("lower(github)")],
        postgresql_where=sa.text("github is not null"),
    )


def _create_candidate() -> None:
    op.create_table(
        "repo_candidate",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _of_repo(),
        _version(),
        _text("focus"),
        sa.Column("score", sa.Double(), nullable=False),
        _text("status"),
        _number("failures", "0"),
        _time("created_at", nullable=False, now=True),
    )
    op.create_index("ix_repo_candidate_repo", "repo_candidate", ["repo_id", "id"])
    op.create_index(
        "uq_repo_candidate_selected",
        "repo_candidate",
        ["repo_id"],
        unique=True,
        postgresql_where=sa.text("status = 'selected'"),
    )


def _create_pull_and_issue() -> None:
    op.create_table(
        "repo_pull",
        _of_repo(key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        _version(),
        _text("head_sha"),
        _text("status"),
        _number("attempt", "0"),
        sa.Column("job_id", sa.Uuid()),
        _time("created_at", nullable=False, now=True),
    )
    op.create_table(
        "repo_issue",
        _of_repo(key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        _version(),
        _text("title"),
        sa.Column("score", sa.Double(), nullable=False),
        _number("solutions_wanted"),
        _number("solutions_done", "0"),
        _text("status"),
        _number("failures", "0"),
        _time("next_try_at"),
        _time("created_at", nullable=False, now=True),
    )


def _create_run() -> None:
    op.create_table(
        "repo_run",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _of_repo(),
        _text("kind"),
        _text("status"),
        sa.Column("job_id", sa.Uuid()),
        sa.Column("candidate_id", sa.Uuid()),
        sa.Column("issue_number", sa.Integer()),
        _time("started_at", nullable=False),
        _time("finished_at"),
    )
    op.create_index("ix_repo_run_repo", "repo_run", ["repo_id", "id"])
    op.create_index("ix_repo_run_started", "repo_run", ["repo_id", "started_at"])
    op.create_index(
        "uq_repo_run_running",
        "repo_run",
        ["repo_id"],
        unique=True,
        postgresql_where=sa.text("status = 'running'"),
    )


def _create_delivery() -> None:
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.Text(), primary_key=True),
        _text("event"),
        _time("received_at", nullable=False, now=True),
    )
    op.create_index("ix_webhook_delivery_received", "webhook_delivery", ["received_at"])
