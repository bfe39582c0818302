-- The memories of the space $1 that changed after the version $2.
SELECT {{indexed}}, {{vectors}}
FROM memex.memories AS m
WHERE m.space_key = $1 AND m.space_version > $2
