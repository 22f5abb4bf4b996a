-- Reads the heads of groups. $1–$2 as claim_heads, $3–$5 as claim_heads_repo, $6–$9 as
-- claim_heads_kin, $10–$14 as claim_heads_kin_repo.
{claim_heads}
union all
{claim_heads_repo+2}
union all
{claim_heads_kin+5}
union all
{claim_heads_kin_repo+9}
