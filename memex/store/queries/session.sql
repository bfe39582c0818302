-- Sets up a fresh connection ($1 milliseconds of one statement, $2 idle in a transaction); returns the types' numbers.
SELECT
    v.atttypid AS halfvec,
    h.typarray AS halfvecs,
    'memex.new_memory'::regtype::oid AS new_memory,
    'memex.new_memory[]'::regtype::oid AS new_memories,
    set_config('TimeZone', 'UTC', false),
    set_config('jit', 'off', false),
    set_config('statement_timeout', $1, false),
    set_config('idle_in_transaction_session_timeout', $2, false)
FROM pg_attribute AS v
INNER JOIN pg_type AS h ON v.atttypid = h.oid
WHERE v.attrelid = 'memex.memory_vectors'::regclass AND v.attname = 'embedding'
