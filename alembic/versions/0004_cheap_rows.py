"""Rows that cost less: the submission of a job stands in its own row.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("job", sa.Column("submitted_by", sa.Text()))


def downgrade() -> None:
    """Undo this revision; who submitted a job is told by an event again."""
    op.execute(
        'insert into job_event (job_id, at, event, "by")'
        " select id, created_at, 'submit', submitted_by from job where submitted_by is not null"
    )
    op.drop_column("job", "submitted_by")
