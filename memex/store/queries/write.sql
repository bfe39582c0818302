-- Stores the rows $5 of the model $4 in one space, each with a key of $7 once; where $6 is true only a text that the agent has not.
SELECT
    w.place, w.outcome, w.replayed, {{shown}}, m.superseded_by::text,
    CASE WHEN w.replayed THEN m.duplicate_of::text ELSE {{original}} END
FROM memex.memex_write($1, $2, $3, $4, $5, $6, $7) AS w, LATERAL (SELECT (w.memory).*) AS m
