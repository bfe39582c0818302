-- Ends the deletion of the agent $2 of the tenant $1 with the key $3 that began at $4.
SELECT e.deleted, e.replayed FROM memex.memex_end_removal($1, $2, $3, $4) AS e
