-- How many memories of one user the scope may see, by state and type.
SELECT m.state, m.memory_type, count(*)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE {{space}} AND {{visible}} AND {{lasting}}
GROUP BY m.state, m.memory_type
