-- Forgets the $1 oldest of those keys of deletions that were used more than 24 hours ago, without waiting for anybody.
WITH gone AS (
    DELETE FROM memex.removals AS r
    USING (
        SELECT o.tenant_id, o.agent_id, o.key FROM memex.removals AS o
        WHERE o.used_at < now() - interval '24 hours'
        ORDER BY o.used_at
        LIMIT $1
        FOR UPDATE SKIP LOCKED
    ) AS o
    WHERE r.tenant_id = o.tenant_id AND r.agent_id = o.agent_id AND r.key = o.key
    RETURNING 1
)
SELECT count(*) FROM gone
