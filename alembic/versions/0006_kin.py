"""Classes that differ in their lock alone are found together.

Revision 0006, after 0005.
"""

import hashlib

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_LOCKED = sa.text(
    "select id, required, prefers_engine, cost_class, priority, excluded"
    " from job_class where lock is not null"
)


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("job_class", sa.Column("kin", sa.LargeBinary(), nullable=True))
    connection = op.get_bind()
    for row in connection.execute(_LOCKED).mappings().all():
        canonical = orjson.dumps(
            [
                sorted(row["required"]),
                row["prefers_engine"],
                row["cost_class"],
                row["priority"],
                None,
                sorted(row["excluded"]),
            ]
        )
        connection.execute(
            sa.text("update job_class set kin = :kin where id = :id"),
            {"kin": hashlib.sha256(canonical).digest(), "id": row["id"]},
        )
    op.create_check_constraint("ck_job_class_kin", "job_class", "(kin is null) = (lock is null)")
    op.create_index(
        "ix_job_class_kin",
        "job_class",
        ["kin"],
        postgresql_include=["id", "lock"],
        postgresql_where=sa.text("kin is not null"),
    )


def downgrade() -> None:
    """Undo this revision."""
    op.drop_index("ix_job_class_kin", table_name="job_class")
    op.drop_constraint("ck_job_class_kin", "job_class")
    op.drop_column("job_class", "kin")
