-- Of one memory m: its length in words, and for each word $9 of the question that it has, which one and how often.
LEFT JOIN LATERAL (
    SELECT
        sum(w.count) AS length,
        array_agg(q.place) FILTER (WHERE q.place IS NOT NULL) AS places,
        array_agg(w.count) FILTER (WHERE q.place IS NOT NULL) AS counts
    FROM (SELECT unnest(m.terms) AS term, unnest(m.term_counts) AS count) AS w
    LEFT JOIN unnest($9::integer []) WITH ORDINALITY AS q (term, place) ON w.term = q.term
    WHERE cardinality($9) > 0
) AS w ON true
