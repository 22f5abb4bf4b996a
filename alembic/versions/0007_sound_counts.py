"""Counts that can be trusted: seats in use are counted anew, attempts never repeat.

Revision 0007, after 0006.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COUNT_SEATS = """
    update factory_seat s
    set used = n.used
    from (
        select f.factory_id, count(b.id) as used
        from factory_seat f
        left join job b on b.holder = f.factory_id and b.fence_open and b.seated
        group by f.factory_id
    ) n
    where s.factory_id = n.factory_id and s.used <> n.used
"""


def upgrade() -> None:
    """Apply this revision."""
    # Nobody takes or gives back a seat between the count and the end of the migration.
    op.execute("lock table factory_seat in access exclusive mode")
    op.execute(_COUNT_SEATS)
    # The attempts at a pull request begin anew with its row; by its id they are told apart.
    op.add_column(
        "repo_pull",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
    )
    # A lock goes with the last class that names it, which has to be found.
    op.create_index(
        "ix_job_class_lock", "job_class", ["lock"], postgresql_where=sa.text("lock is not null")
    )


def downgrade() -> None:
    """Undo this revision."""
    op.drop_index("ix_job_class_lock", table_name="job_class")
    op.drop_column("repo_pull", "id")
