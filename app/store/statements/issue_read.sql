-- Reads the issues of a repo, by number.
select number, version, title, score, solutions_wanted, solutions_done, status, failures, next_try_at
from repo_issue
where repo_id = $1
order by number
