-- The agent of the memory $1 of the tenant $2, of the user $3 unless that is null; also of one that was deleted by a request
-- of the route $4 with the key $5.
SELECT m.agent_id
FROM memex.memories AS m
INNER JOIN memex.spaces AS s ON m.space_key = s.space_key
WHERE m.id = $1 AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3)
UNION ALL
SELECT k.agent_id
FROM memex.idempotency_keys AS k
INNER JOIN memex.spaces AS s ON k.space_key = s.space_key
WHERE k.memory_id = $1 AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3) AND k.route = $4 AND k.key = $5
LIMIT 1
