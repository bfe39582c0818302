-- The next $4 memories of the space $1 after the id $3, of any agent and state.
SELECT {{indexed}}
FROM memex.memories AS m
WHERE m.space_key = $1 AND m.id > $3
ORDER BY m.id
LIMIT $4
