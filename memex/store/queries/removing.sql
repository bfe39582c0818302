-- The next $16 ids after $15 of those that `removable.sql` counts in one space.
SELECT uuid_send(m.id)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE
    {{space}} AND m.agent_id = $4 AND m.recorded_at <= $5::timestamptz AND {{narrowed}}
    AND ($13::bytea IS NULL OR m.content_hash = $13) AND ($14::uuid [] IS NULL OR m.id = any($14))
    AND m.id > $15::uuid
ORDER BY m.id
LIMIT $16
