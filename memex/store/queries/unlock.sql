-- Gives the lock $1 of this connection back.
SELECT pg_advisory_unlock($1)
