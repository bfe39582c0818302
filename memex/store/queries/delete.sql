-- Deletes the ids $5 of the agents $4 in one space, each with a key of $6 once.
SELECT d.place, d.outcome, d.replayed FROM memex.memex_delete($1, $2, $3, $4, $5, $6) AS d
