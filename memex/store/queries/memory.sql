-- The memory $1 of the tenant $2, in whatever state, if the scope may see it; of the user $3, null is any.
SELECT s.user_id, {{shown}}, {{links}}
FROM memex.memories AS m
INNER JOIN memex.spaces AS s ON m.space_key = s.space_key
WHERE m.id = $1 AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3) AND {{visible}} AND {{lasting}}
