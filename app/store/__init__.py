"""PostgreSQL and nothing else: tables, sessions, and one module with its .sql files per noun."""
