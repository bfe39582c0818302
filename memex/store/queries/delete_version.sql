-- Deletes the ids $5 of the agents $4 in one space, each with a key of $6 once, if it is in one of the versions that $7
-- names: changes of nothing, whose lock of the space holds until the end.
SELECT c.place, coalesce(d.outcome, c.outcome), coalesce(d.replayed, false)
FROM memex.memex_change(
    $1, $2, $3, (SELECT m.id FROM memex.models AS m WHERE m.is_current), $7, '{}'::memex.request_key []
) AS c
LEFT JOIN LATERAL memex.memex_delete(
    $1, $2, $3,
    ($4::text [])[c.place:c.place],
    CASE WHEN c.outcome = 'stale' THEN '{}' ELSE ($5::uuid [])[c.place:c.place] END,
    ($6::memex.request_key [])[c.place:c.place]
) AS d ON true
ORDER BY c.place
