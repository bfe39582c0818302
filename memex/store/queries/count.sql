-- How many live memories the agent $4 has of one user.
SELECT count(*)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE {{space}} AND m.agent_id = $4 AND m.state = 'active' AND {{lasting}}
