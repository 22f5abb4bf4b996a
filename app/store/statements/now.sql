-- Tells the database's time.
select statement_timestamp()
