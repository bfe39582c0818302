-- Deletes the ids $5 of the agents $4 in one space; returns those that were.
SELECT uuid_send(d.deleted) FROM memex.memex_delete($1, $2, $3, $4, $5) AS d
