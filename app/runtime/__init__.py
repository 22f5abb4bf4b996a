"""The process and its machine: settings, clock, ids, logs, embedded PostgreSQL."""
