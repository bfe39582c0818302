-- Stores the rows $5 of the model $4 in one space; where $6 is true only a text that the agent has not.
SELECT w.place, w.created, {{shown}}, m.superseded_by::text, {{original}}
FROM memex.memex_write($1, $2, $3, $4, $5, $6) AS w, LATERAL (SELECT (w.memory).*) AS m
