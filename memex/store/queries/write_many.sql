-- As write.sql, of many rows whose contents nobody asks for.
SELECT w.place, w.outcome, w.replayed, (w.memory).id::text
FROM memex.memex_write($1, $2, $3, $4, $5, $6, $7) AS w
