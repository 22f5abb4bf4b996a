"""A claim walks through the jobs of a kin by their age, whatever their locks.

Revision 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_READY = "state = 'ready' and kin <> ''::bytea"
_READY_REPO = "state = 'ready' and repo is not null and kin <> ''::bytea"


def upgrade() -> None:
    """Apply this revision."""
    key = sa.Computed("coalesce(kin, ''::bytea)", persisted=True)
    op.add_column("job_class", sa.Column("kin_key", sa.LargeBinary(), key, nullable=False))
    op.create_unique_constraint("uq_job_class_id_kin", "job_class", ["id", "kin_key"])
    kin = sa.Column("kin", sa.LargeBinary(), server_default=sa.text("''::bytea"), nullable=False)
    op.add_column("job", kin)
    op.execute(
        "update job set kin = c.kin from job_class c"
        " where c.id = job.class_id and c.lock is not null"
    )
    op.drop_constraint("job_class_id_fkey", "job")
    op.create_foreign_key(
        "fk_job_class", "job", "job_class", ["class_id", "kin"], ["id", "kin_key"]
    )
    op.create_index(
        "ix_job_ready_kin",
        "job",
        ["kin", "created_at", "id"],
        postgresql_where=sa.text(_READY),
    )
    op.create_index(
        "ix_job_ready_kin_repo",
        "job",
        ["repo", "kin", "created_at", "id"],
        postgresql_where=sa.text(_READY_REPO),
    )


def downgrade() -> None:
    """Undo this revision."""
    op.drop_index("ix_job_ready_kin_repo", table_name="job")
    op.drop_index("ix_job_ready_kin", table_name="job")
    op.drop_constraint("fk_job_class", "job")
    op.create_foreign_key("job_class_id_fkey", "job", "job_class", ["class_id"], ["id"])
    op.drop_column("job", "kin")
    op.drop_constraint("uq_job_class_id_kin", "job_class")
    op.drop_column("job_class", "kin_key")
