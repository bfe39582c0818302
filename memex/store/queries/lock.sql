-- Takes the lock $1 for this connection, if nobody has it.
SELECT pg_try_advisory_lock($1)
