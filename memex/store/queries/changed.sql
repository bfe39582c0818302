-- The memories of the space $1 that changed after the version $2: one more than a delta may hold where there are more.
SELECT {{indexed}}, {{vectors}}
FROM memex.memories AS m
WHERE m.space_key = $1 AND m.space_version > $2
LIMIT $3 + 1
