-- Keeps what a repo's last cycle came to; moves no version.
update repo set last_cycle = $2 where id = $1
