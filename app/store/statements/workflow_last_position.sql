-- Tells the greatest position; 0 without workflows.
select coalesce(max(position), 0) from workflow
