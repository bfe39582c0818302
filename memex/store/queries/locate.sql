-- The user of a memory that only an agent ($2) and a tenant ($3) are known of.
SELECT s.user_id
FROM memex.memories AS m
INNER JOIN memex.spaces AS s ON m.space_key = s.space_key
WHERE m.id = $1 AND m.agent_id = $2 AND s.tenant_id = $3
