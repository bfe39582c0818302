-- Changes memories as $5 says, in one space whose vectors are of the model $4.
SELECT c.place, c.outcome, {{shown}}, m.superseded_by::text, {{original}}
FROM memex.memex_change($1, $2, $3, $4, $5) AS c, LATERAL (SELECT (c.memory).*) AS m
