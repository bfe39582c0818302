-- Begins the deletion of the agent $2 of the tenant $1 with the key $3 and the digest $4, or tells of it.
SELECT b.began, b.deleted, b.done FROM memex.memex_begin_removal($1, $2, $3, $4) AS b
