-- The least that a compare-and-swap needs: no index but the key, and room to update in place.
create table bare (
    id uuid primary key,
    version bigint not null,
    state text not null,
    holder text,
    lease_expires_at timestamptz
) with (fillfactor = 50)
