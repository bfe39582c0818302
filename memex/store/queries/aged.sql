-- The spaces of the $2 oldest tombstones of those older than $1 seconds, each with a time after all of these.
SELECT t.space_key, max(t.deleted_at) + interval '1 microsecond'
FROM (
    SELECT a.space_key, a.deleted_at FROM memex.tombstones AS a
    WHERE a.deleted_at < now() - $1 * interval '1 second'
    ORDER BY a.deleted_at
    LIMIT $2
) AS t
GROUP BY t.space_key
ORDER BY t.space_key
