-- The newest $16 memories that the scope may see and the conditions let through, of those after the place ($14, $15),
-- each with the number of all before and after it: one row without a memory where there is none. Where $13 says so the
-- archived ones are among them.
WITH found AS MATERIALIZED (
    SELECT m.created_at, m.id
    FROM memex.spaces AS s
    INNER JOIN memex.memories AS m ON s.space_key = m.space_key
    WHERE
        {{space}} AND {{visible}} AND {{lasting}} AND (m.state = 'active' OR (m.state = 'archived' AND $13))
        AND {{narrowed}}
)
SELECT c.total, m.created_at, uuid_send(m.id), {{shown}}, {{links}}
FROM (SELECT count(*) AS total FROM found) AS c
LEFT JOIN (
    (
        SELECT f.created_at, f.id FROM found AS f
        WHERE $14::timestamptz IS NULL OR (f.created_at, f.id) < ($14, $15::uuid)
        ORDER BY f.created_at DESC, f.id DESC
        LIMIT $16
    ) AS p
    INNER JOIN memex.memories AS m ON m.space_key = $1 AND p.id = m.id
) ON true
ORDER BY p.created_at DESC, p.id DESC
