-- Forgets the $1 oldest keys of those that were used more than 24 hours ago, without waiting for whoever uses one anew.
WITH gone AS (
    DELETE FROM memex.idempotency_keys AS k
    USING (
        SELECT o.space_key, o.agent_id, o.route, o.key FROM memex.idempotency_keys AS o
        WHERE o.used_at < now() - interval '24 hours'
        ORDER BY o.used_at
        LIMIT $1
        FOR UPDATE SKIP LOCKED
    ) AS o
    WHERE k.space_key = o.space_key AND k.agent_id = o.agent_id AND k.route = o.route AND k.key = o.key
    RETURNING 1
)
SELECT count(*) FROM gone
