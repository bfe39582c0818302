-- Changes memories as $5 says, in one space whose vectors are of the model $4, each with a key of $6 once.
SELECT
    c.place, c.outcome, c.replayed, {{shown}}, m.superseded_by::text,
    CASE WHEN c.replayed THEN m.duplicate_of::text ELSE {{original}} END
FROM memex.memex_change($1, $2, $3, $4, $5, $6) AS c, LATERAL (SELECT (c.memory).*) AS m
