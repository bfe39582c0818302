-- The exact best $11 of all memories in the scope, by the formula, with the space's state and their contents: at least
-- one row if the space exists. Where $6 says so the archived ones are among them. Vectors are of the model $7.
WITH RECURSIVE
documents AS MATERIALIZED (
    SELECT
        m.id, m.content_hash, m.created_at, m.importance, w.length, w.places, w.counts, p.passes,
        CASE WHEN p.passes AND $8::real [] IS NOT NULL THEN (
            SELECT max(memex.inner_product(v.embedding, (SELECT memex.vector_of($8))))
            FROM memex.memory_vectors AS v
            WHERE v.space_key = m.space_key AND v.memory_id = m.id AND v.model_id = $7
        ) END AS cosine
    FROM memex.spaces AS s
    INNER JOIN memex.memories AS m ON s.space_key = m.space_key
    CROSS JOIN LATERAL (SELECT coalesce({{passing}}, false) AS passes) AS p
    {{wordcounts}}
    WHERE {{space}} AND {{visible}} AND {{lasting}} AND (m.state = 'active' OR (m.state = 'archived' AND $6::boolean))
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
    INNER JOIN memex.memories AS m ON m.space_key = $1 AND a.id = m.id
    LEFT JOIN copies AS c ON a.content_hash = c.content_hash
) ON true
WHERE {{space}}
ORDER BY a.place
