-- Forgets the tombstones of the space $1 from before $2; returns how many.
SELECT memex.memex_purge($1, $2)
