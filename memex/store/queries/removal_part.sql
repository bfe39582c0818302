-- Deletes the ids $7 of the agent $4 in one space, for its deletion with the key $5 that began at $6.
SELECT memex.memex_continue_removal($1, $2, $3, $4, $5, $6, $7)
