-- Stores a new issue of a repo.
insert into repo_issue (
    repo_id, number, title, score, solutions_wanted, solutions_done, status, failures, next_try_at
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
