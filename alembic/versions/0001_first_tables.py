"""The first tables: jobs and their leases, factories and their seats, keys, tokens, ticks.

Revision 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_EAGER = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.02",
}

_TINY = {
    "fillfactor": "70",
    "autovacuum_vacuum_scale_factor": "0.01",
    "autovacuum_vacuum_threshold": "200",
}

STORAGE = {
    # Rewritten in place many times in a row's life: room on the page, and vacuum close behind, so
    # that the hot set stays as small as the work that is really there.
    "job": {"fillfactor": "80", **_EAGER},
    "factory_seat": _TINY,
    "factory_pulse": _TINY,
    "job_lock": _TINY,
    # Appended, then pruned from the old end: kept visible for index-only reads, and analysed.
    "job_event": _EAGER,
    "decision": _EAGER,
}
"""Storage parameters by table; they are no part of the metadata that autogenerate compares."""


def upgrade() -> None:
    """Apply this revision."""
    _create_classes_and_locks()
    _create_job()
    _create_job_indexes()
    _create_history()
    _create_factory()
    _create_factory_facts()
    _create_keys_and_tokens()
    _create_tick()
    for table, parameters in STORAGE.items():
        listed = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        op.execute(f"alter table {table} set ({listed})")


def downgrade() -> None:
    """Undo this revision: the tables go, and everything in them."""
    for table in (
        "tick",
        "token",
        "idempotency_key",
        "claim_key",
        "account",
        "factory_repo",
        "factory_seat",
        "factory_pulse",
        "factory",
        "decision",
        "job_event",
        "job_dependency",
        "job",
        "job_lock",
        "job_class",
    ):
        op.drop_table(table)


def _time(name: str, *, nullable: bool = True, now: bool = False) -> sa.Column[object]:
    default = sa.text("now()") if now else None
    return sa.Column(
        name, sa.DateTime(timezone=True), nullable=nullable and not now, server_default=default
    )


def _texts(name: str) -> sa.Column[object]:
    return sa.Column(
        name, postgresql.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'::text[]")
    )


def _json(name: str) -> sa.Column[object]:
    return sa.Column(
        name, postgresql.JSONB(), nullable=False, server_default=sa.text("'{}'::jsonb")
    )


def _count(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _flag(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text("false"))


def _version(name: str = "version") -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default=sa.text("1"))


def _of_factory() -> sa.Column[object]:
    return sa.Column(
        "factory_id", sa.Text(), sa.ForeignKey("factory.id", ondelete="CASCADE"), primary_key=True
    )


def _job_ref(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.Uuid(), sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)


def _create_classes_and_locks() -> None:
    op.create_table(
        "job_class",
        sa.Column("id", sa.BigInteger(), sa.Identity(), primary_key=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False, unique=True),
        _texts("required"),
        sa.Column("prefers_engine", sa.Text()),
        sa.Column("cost_class", sa.Text(), nullable=False),
        sa.Column("priority", sa.Text(), nullable=False),
        sa.Column("lock", sa.Text()),
        _texts("excluded"),
        sa.Column(
            "created_xid",
            sa.BigInteger(),
            nullable=False,
            server_default=sa.text("(pg_current_xact_id()::text::bigint)"),
        ),
    )
    op.create_index("ix_job_class_created_xid", "job_class", ["created_xid"])
    op.create_index(
        "ix_job_class_excluding",
        "job_class",
        ["id"],
        postgresql_where=sa.text("excluded <> '{}'::text[]"),
    )
    op.create_table(
        "job_lock",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("holder_job", sa.Uuid()),
        sa.Column("holder_fence", sa.BigInteger()),
        _flag("lapsed"),
    )
    op.create_index(
        "ix_job_lock_held",
        "job_lock",
        ["name"],
        postgresql_where=sa.text("holder_job is not null and not lapsed"),
    )


def _create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("class_id", sa.BigInteger(), sa.ForeignKey("job_class.id"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _version(),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("repo", sa.Text()),
        _time("created_at", now=True),
        _time("updated_at", now=True),
        sa.Column("fence", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        _flag("fence_open"),
        sa.Column("holder", sa.Text()),
        _flag("seated"),
        sa.Column("lease_s", sa.Integer()),
        _time("claimed_at"),
        _time("lease_expires_at"),
        _time("cancel_requested_at"),
        _time("cancel_deadline_at"),
        _time("wake_at"),
        _count("attempts"),
        sa.Column("attempts_max", sa.Integer(), nullable=False),
        sa.Column("timeout_s", sa.Integer(), nullable=False),
        _time("run_after"),
        sa.Column("if_parent_fails", sa.Text(), nullable=False),
        _count("parents_left"),
        _count("dependants"),
        sa.Column("cancelled_by_parent", sa.Uuid()),
        sa.Column("hold_reason", sa.Text()),
        sa.Column("hold_by", sa.Text()),
        _time("hold_until"),
        sa.Column("dedupe_key", sa.Text()),
        _json("payload"),
        _json("labels"),
        sa.Column("result", postgresql.JSONB()),
        sa.Column("error", sa.Text()),
        _time("finished_at"),
    )


def _create_job_indexes() -> None:
    op.create_index("ix_job_class_id", "job", ["class_id"])
    op.create_index("ix_job_state_id", "job", ["state", "id"])
    for name, columns, where in (
        ("ix_job_ready", ["class_id", "created_at", "id"], "state = 'ready'"),
        (
            "ix_job_ready_repo",
            ["repo", "class_id", "created_at", "id"],
            "state = 'ready' and repo is not null",
        ),
        ("ix_job_wake", ["wake_at"], "wake_at is not null"),
        ("ix_job_holder", ["holder"], "fence_open"),
        ("ix_job_finished", ["finished_at"], "finished_at is not null"),
    ):
        op.create_index(name, "job", columns, postgresql_where=sa.text(where))
    op.create_index(
        "uq_job_dedupe_key",
        "job",
        ["dedupe_key"],
        unique=True,
        postgresql_where=sa.text("dedupe_key is not null"),
    )
    op.create_table(
        "job_dependency",
        _job_ref("job_id"),
        _job_ref("parent_id"),
    )
    op.create_index("ix_job_dependency_parent_id", "job_dependency", ["parent_id"])


def _create_history() -> None:
    op.create_table(
        "job_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(), primary_key=True),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        _time("at", now=True),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("factory_id", sa.Text()),
        sa.Column("fence", sa.BigInteger()),
        sa.Column("outcome", sa.Text()),
        _time("claimed_at"),
        sa.Column("by", sa.Text()),
        _json("detail"),
    )
    op.create_index("ix_job_event_job_id", "job_event", ["job_id"])
    op.create_index(
        "ix_job_event_outcome",
        "job_event",
        ["factory_id", sa.text("at desc")],
        postgresql_where=sa.text("outcome is not null"),
    )
    op.create_table(
        "decision",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("at", now=True),
        sa.Column("factory_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        _json("record"),
    )
    op.create_index("ix_decision_job_id", "decision", ["job_id"])
    op.create_index("ix_decision_factory", "decision", ["factory_id", "id"])
    op.create_index("ix_decision_at", "decision", ["at"])


def _create_factory() -> None:
    op.create_table(
        "factory",
        sa.Column("id", sa.Text(), primary_key=True),
        _version(),
        _texts("capabilities"),
        _texts("engines"),
        sa.Column("declared_cost_ceiling", sa.Text(), nullable=False),
        sa.Column("declared_seat_limit", sa.Integer(), nullable=False),
        sa.Column("ops_cost_ceiling", sa.Text()),
        sa.Column("ops_seat_limit", sa.Integer()),
        sa.Column("account", sa.Text()),
        _json("labels"),
        sa.Column("drain_reason", sa.Text()),
        sa.Column("drain_by", sa.Text()),
        _time("drain_until"),
        sa.Column("pause_reason", sa.Text()),
        sa.Column("pause_by", sa.Text()),
        _time("pause_until"),
        _time("quarantined_until"),
        _count("quarantine_strikes"),
        _time("quarantine_lifted_at"),
        _time("registered_at", now=True),
        _time("updated_at", now=True),
    )
    op.create_index("ix_factory_account", "factory", ["account"])


def _create_factory_facts() -> None:
    op.create_table(
        "factory_pulse",
        _of_factory(),
        _time("last_seen_at", now=True),
        sa.Column("health", sa.Text(), nullable=False),
        _count("external_load"),
        _texts("warm_repos"),
    )
    op.create_table(
        "factory_seat",
        _of_factory(),
        sa.Column("seat_limit", sa.Integer(), nullable=False),
        _count("used"),
        _version("epoch"),
        _time("last_served_at"),
    )
    op.create_table(
        "factory_repo",
        _of_factory(),
        sa.Column("repo", sa.Text(), primary_key=True),
        _time("succeeded_at", nullable=False),
    )
    op.create_table(
        "account", sa.Column("name", sa.Text(), primary_key=True), _time("cooldown_until")
    )


def _create_keys_and_tokens() -> None:
    op.create_table(
        "claim_key",
        sa.Column("factory_id", sa.Text(), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("leases", postgresql.JSONB(), nullable=False),
        _time("expires_at", nullable=False),
    )
    op.create_index("ix_claim_key_expires_at", "claim_key", ["expires_at"])
    op.create_table(
        "idempotency_key",
        sa.Column("scope", sa.Text(), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("body", postgresql.JSONB()),
        _time("expires_at", nullable=False),
    )
    op.create_index("ix_idempotency_key_expires_at", "idempotency_key", ["expires_at"])
    op.create_table(
        "token",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("factory_id", sa.Text()),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        _time("created_at", now=True),
        _time("expires_at"),
        _time("revoked_at"),
    )


def _create_tick() -> None:
    op.create_table(
        "tick",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("window", sa.Text()),
        _time("at", now=True),
        _json("report"),
    )
    op.create_index("ix_tick_kind", "tick", ["kind", "id"])
    op.create_index(
        "uq_tick_window",
        "tick",
        ["kind", "window"],
        unique=True,
        postgresql_where=sa.text('"window" is not null'),
    )
