-- The first $2 memories of the space $1 by id, of any agent and state.
SELECT {{indexed}}, {{vectors}}
FROM memex.memories AS m
WHERE m.space_key = $1
ORDER BY m.id
LIMIT $2
