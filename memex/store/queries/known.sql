-- As ranked.sql, of what was known at the time $6, whatever its state was: of memories that the scope could see then
-- and can see now, and that lived then and live now.
WITH RECURSIVE
documents AS MATERIALIZED (
    SELECT
        m.id, m.content_hash, m.created_at, m.importance, w.length, w.places, w.counts, p.passes,
        CASE
            WHEN NOT p.passes OR $8::real [] IS NULL THEN NULL
            WHEN m.is_current THEN (
                SELECT max(memex.inner_product(v.embedding, (SELECT memex.vector_of($8))))
                FROM memex.memory_vectors AS v
                WHERE v.space_key = m.space_key AND v.memory_id = m.id AND v.model_id = $7
            )
            ELSE (
                SELECT max(memex.inner_product(v.embedding, (SELECT memex.vector_of($8))))
                FROM memex.memory_versions AS e, unnest(e.vectors) AS v (embedding)
                WHERE e.space_key = m.space_key AND e.memory_id = m.id AND e.version = m.version AND e.model_id = $7
            )
        END AS cosine
    FROM memex.spaces AS s
    INNER JOIN {{known}} ON s.space_key = m.space_key
    CROSS JOIN LATERAL (SELECT coalesce({{passing}}, false) AS passes) AS p
    {{wordcounts}}
    WHERE {{space}} AND {{visible}} AND (m.expires_at IS NULL OR m.expires_at > $6::timestamptz)
        AND m.id IN (SELECT m.id FROM memex.memories AS m WHERE m.space_key = $1 AND {{visible}} AND {{lasting}})
),
{{ranked}}
SELECT
    {{state}},
    {{score}},
    {{shown}},
    {{links}}
FROM memex.spaces AS s
LEFT JOIN (
    answer AS a
    INNER JOIN {{known}} ON a.id = m.id
    LEFT JOIN copies AS c ON a.content_hash = c.content_hash
) ON true
WHERE {{space}}
ORDER BY a.place
