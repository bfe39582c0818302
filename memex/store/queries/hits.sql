-- The state of a space, and the contents of those of the ids $5 that the scope may see: at least one row if it exists.
SELECT {{state}}, {{shown}}
FROM memex.spaces AS s
LEFT JOIN memex.memories AS m ON s.space_key = m.space_key AND m.id = any($5) AND {{visible}}
WHERE {{space}}
