-- Of which users of a tenant the agent $4 has memories that were there at $5, pass the conditions, are of the text $13 and
-- among the ids $14, and how many. Of the user $3 with the space $1 alone where those are not null.
SELECT s.user_id, count(*)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE
    ($1::bigint IS NULL OR s.space_key = $1) AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3)
    AND m.agent_id = $4 AND m.recorded_at <= $5::timestamptz AND {{narrowed}}
    AND ($13::bytea IS NULL OR m.content_hash = $13) AND ($14::uuid [] IS NULL OR m.id = any($14))
GROUP BY s.user_id
ORDER BY s.user_id
