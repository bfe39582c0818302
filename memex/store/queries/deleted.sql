-- The user whose memory $1 the agent $2 of the tenant $3 has deleted by a request of the route $4 with the key $5.
SELECT s.user_id
FROM memex.idempotency_keys AS k
INNER JOIN memex.spaces AS s ON k.space_key = s.space_key
WHERE k.memory_id = $1 AND k.agent_id = $2 AND s.tenant_id = $3 AND k.route = $4 AND k.key = $5
