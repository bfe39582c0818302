-- The agent and the user of the memory $1 of the tenant $2; of the user $3, null is any.
SELECT m.agent_id, s.user_id
FROM memex.memories AS m
INNER JOIN memex.spaces AS s ON m.space_key = s.space_key
WHERE m.id = $1 AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3)
