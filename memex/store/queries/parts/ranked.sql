-- From `documents`, all that the scope may see, to `answer`, the best $11 in their order: the formula of the contract,
-- in double precision. Recency below 2^-960 is nothing: PostgreSQL refuses what underflows, be it the product.
-- BM25 with k1 0.9 and b 0.4, statistics over all documents; a weight for each word $9 of the question, which has it
-- $10 times.
corpus AS MATERIALIZED (
    SELECT count(*)::double precision AS documents, sum(d.length)::double precision / count(*) AS mean_length
    FROM documents AS d
),
weights AS MATERIALIZED (
    SELECT
        array_agg(
            a.repeats * ln(1 + (c.documents - f.documents + 0.5) / (f.documents + 0.5)) ORDER BY a.place
        ) AS of_place
    FROM unnest($9::integer [], $10::integer []) WITH ORDINALITY AS a (term, repeats, place)
    CROSS JOIN corpus AS c
    LEFT JOIN (
        SELECT p.place, count(*)::double precision AS documents
        FROM documents AS d, unnest(d.places) AS p (place)
        GROUP BY p.place
    ) AS f ON a.place = f.place
),
scored AS MATERIALIZED (
    SELECT
        d.id, d.content_hash, d.created_at, d.cosine, l.lexical, r.relevance, r.recency, r.factor,
        (f.alpha * r.relevance + (1 - f.alpha) * r.recency) * r.factor AS score
    FROM documents AS d
    CROSS JOIN corpus AS c
    CROSS JOIN (
        SELECT
            $12::double precision AS alpha,
            $13::double precision AS half_life,
            $14::double precision AS importance_weight,
            $15::double precision AS floor,
            $16::double precision AS ceiling,
            $18::timestamptz AS now,
            $20::double precision AS semantic_share,
            $21::double precision AS keyword_share
    ) AS f
    CROSS JOIN LATERAL (
        SELECT CASE WHEN d.places IS NULL THEN 0 ELSE (
            SELECT sum(
                (SELECT w.of_place FROM weights AS w)[t.place]
                * t.count / (t.count + 0.9 * (0.6 + 0.4 * d.length / c.mean_length))
            )
            FROM unnest(d.places, d.counts) AS t (place, count)
        ) END AS lexical
    ) AS l
    CROSS JOIN LATERAL (
        SELECT
            f.semantic_share * least(greatest((d.cosine - f.floor) / (f.ceiling - f.floor), 0), 1)
            + f.keyword_share * l.lexical / (l.lexical + 16) AS relevance,
            CASE WHEN a.age < 960 * f.half_life THEN power(2, - a.age / f.half_life) ELSE 0 END AS recency,
            1 + f.importance_weight * (d.importance - 1) AS factor
        FROM (SELECT greatest(extract(EPOCH FROM f.now - d.created_at)::double precision, 0) AS age) AS a
    ) AS r
    WHERE d.passes
),
-- With $19 each text is stood for by its best row, then the newest, then the one of the smallest id.
chosen AS MATERIALIZED (
    (
        SELECT DISTINCT ON (s.content_hash) s.*
        FROM scored AS s
        WHERE $19::boolean AND s.score >= coalesce($17::double precision, s.score)
        ORDER BY s.content_hash, s.score DESC, s.created_at DESC, s.id
    )
    UNION ALL
    SELECT s.* FROM scored AS s WHERE NOT $19::boolean AND s.score >= coalesce($17::double precision, s.score)
),
-- By descending score, what is within 1e-5 of a group's first one belongs to it. The firsts of all groups of an answer
-- are among the best $11, and only the last of these groups can go beyond them.
best AS MATERIALIZED (
    SELECT c.score FROM chosen AS c ORDER BY c.score DESC LIMIT $11
),
leaders (score) AS (
    SELECT max(b.score) FROM best AS b
    UNION ALL
    SELECT (SELECT max(b.score) FROM best AS b WHERE b.score < l.score - 0.00001::double precision)
    FROM leaders AS l
    WHERE l.score IS NOT NULL
),
answer AS MATERIALIZED (
    SELECT c.*, row_number() OVER (ORDER BY g.leader DESC, c.created_at DESC, c.id) AS place
    FROM chosen AS c
    CROSS JOIN LATERAL (SELECT min(l.score) AS leader FROM leaders AS l WHERE l.score >= c.score) AS g
    WHERE c.score >= (SELECT min(l.score) FROM leaders AS l) - 0.00001::double precision
    ORDER BY place
    LIMIT $11
),
copies AS (
    SELECT s.content_hash, count(*) - 1 AS others
    FROM scored AS s
    WHERE $19::boolean AND s.content_hash IN (SELECT a.content_hash FROM answer AS a)
    GROUP BY s.content_hash
)
