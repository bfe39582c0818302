-- What the memory $1 of the tenant $2 is now, and its last $6 versions below $7, each with the number of all: as far as
-- the scope may see them, and none where it may not see what the memory is now. What an earlier one says of others it
-- says only if those are still there.
SELECT h.*
FROM (
    SELECT m.version AS place, m.version = c.version AS newest, count(*) OVER (), c.user_id, {{shown}}, {{links}}
    FROM (
        SELECT m.*, s.user_id
        FROM memex.memories AS m
        INNER JOIN memex.spaces AS s ON m.space_key = s.space_key
        WHERE m.id = $1 AND s.tenant_id = $2 AND ($3::text IS NULL OR s.user_id = $3) AND {{visible}} AND {{lasting}}
    ) AS c
    CROSS JOIN LATERAL (
        SELECT
            c.version, c.id, c.agent_id, c.content, c.importance, c.memory_type, c.created_at, c.tags, c.metadata,
            c.session_id, c.source, c.external_id, c.visibility, c.state, c.updated_at, c.recorded_at, c.expires_at,
            c.superseded_by, c.duplicate_of, c.space_key, c.content_hash
        UNION ALL
        SELECT
            v.version, v.memory_id, v.agent_id, v.content, v.importance, v.memory_type, v.created_at, v.tags, v.metadata,
            v.session_id, v.source, v.external_id, v.visibility, v.state, v.valid_from, v.recorded_at, v.expires_at,
            (SELECT o.id FROM memex.memories AS o WHERE o.space_key = v.space_key AND o.id = v.superseded_by),
            (
                SELECT o.id FROM memex.memories AS o
                WHERE
                    o.space_key = v.space_key AND o.id = v.duplicate_of
                    AND (o.expires_at IS NULL OR o.expires_at > now())
            ),
            v.space_key, v.content_hash
        FROM memex.memory_versions AS v
        WHERE v.space_key = c.space_key AND v.memory_id = c.id
    ) AS m
    WHERE {{visible}}
) AS h
WHERE h.newest OR h.place < $7
ORDER BY h.place DESC
LIMIT $6 + 1
