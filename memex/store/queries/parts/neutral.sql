-- What a role, a database or the environment may have set, and would change the meaning of statements or break them:
-- writers rely on seeing what was committed before they got the lock of a space.
set_config('search_path', 'pg_catalog', false),
set_config('default_transaction_isolation', 'read committed', false),
set_config('standard_conforming_strings', 'on', false),
set_config('DateStyle', 'ISO, MDY', false),
set_config('TimeZone', 'UTC', false),
set_config('lock_timeout', '0', false),
set_config('idle_session_timeout', '0', false)
