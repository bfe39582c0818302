-- Sets up a fresh connection ($1 milliseconds of one statement, $2 idle in a transaction); returns the types' numbers.
-- Every statement of ours has its index, so one generic plan is right and planning each time is not; and a plan made
-- while a table was small must not go on scanning it when it has grown. No statement takes other workers to help it:
-- among many clients no core is idle, and a statement that loses its helpers fails for no fault of its own.
SELECT
    v.atttypid AS halfvec,
    h.typarray AS halfvecs,
    'memex.new_memory'::regtype::oid AS new_memory,
    'memex.new_memory[]'::regtype::oid AS new_memories,
    'memex.memory_change'::regtype::oid AS memory_change,
    'memex.memory_change[]'::regtype::oid AS memory_changes,
    'memex.request_key'::regtype::oid AS request_key,
    'memex.request_key[]'::regtype::oid AS request_keys,
    {{neutral}},
    set_config('jit', 'off', false),
    set_config('max_parallel_workers_per_gather', '0', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('statement_timeout', $1, false),
    set_config('idle_in_transaction_session_timeout', $2, false)
FROM pg_attribute AS v
INNER JOIN pg_type AS h ON v.atttypid = h.oid
WHERE v.attrelid = 'memex.memory_vectors'::regclass AND v.attname = 'embedding'
