-- Tells which revision the schema is at; answering at all is the sign of life.
select version_num from alembic_version
