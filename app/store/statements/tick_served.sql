-- Tells whether a tick was served for a window.
select exists (select from tick where kind = $1 and "window" = $2)
