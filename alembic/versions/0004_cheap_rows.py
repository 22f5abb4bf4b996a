"""Rows that cost less: fewer index entries, and the submission of a job stands in its own row.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_APPENDED_AND_PRUNED = ("job", "job_event", "decision")


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("job", sa.Column("submitted_by", sa.Text()))
    op.create_index(
        "ix_job_aside",
        "job",
        ["state", "id"],
        postgresql_where=sa.text("state in ('blocked', 'scheduled', 'held', 'dead', 'cancelled')"),
    )
    op.drop_index("ix_job_state_id", "job")
    op.create_index(
        "ix_repo_run_finished",
        "repo_run",
        ["finished_at"],
        postgresql_where=sa.text("finished_at is not null"),
    )
    for table in _APPENDED_AND_PRUNED:
        # Giving pages back to the disk locks everybody out for a moment, and they are soon needed.
        op.execute(f"alter table {table} set (vacuum_truncate = off)")


def downgrade() -> None:
    """Undo this revision; who submitted a job is told by an event again."""
    for table in _APPENDED_AND_PRUNED:
        op.execute(f"alter table {table} reset (vacuum_truncate)")
    op.drop_index("ix_repo_run_finished", "repo_run")
    op.create_index("ix_job_state_id", "job", ["state", "id"])
    op.drop_index("ix_job_aside", "job")
    op.execute(
        'insert into job_event (job_id, at, event, "by")'
        " select id, created_at, 'submit', submitted_by from job where submitted_by is not null"
    )
    op.drop_column("job", "submitted_by")
