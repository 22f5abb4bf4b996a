"""A factory that waits for a seat of its own says so, so that others need not be told of each.

Revision 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision."""
    op.add_column(
        "factory_seat", sa.Column("awaited", sa.Boolean(), server_default="false", nullable=False)
    )


def downgrade() -> None:
    """Undo this revision."""
    op.drop_column("factory_seat", "awaited")
