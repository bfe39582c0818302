-- The tables and functions that this role may not use, or null.
SELECT string_agg(DISTINCT o.name, ', ' ORDER BY o.name)
FROM (
    SELECT c.relname::text AS name
    FROM pg_class AS c, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text []) AS p (privilege)
    WHERE c.relnamespace = 'memex'::regnamespace AND c.relkind = 'r' AND NOT has_table_privilege(c.oid, p.privilege)
        AND (p.privilege = 'SELECT' OR c.relname NOT IN ('compatibility', 'alembic_version'))
    UNION ALL
    SELECT f.proname::text FROM pg_proc AS f
    WHERE f.pronamespace = 'memex'::regnamespace AND NOT has_function_privilege(f.oid, 'EXECUTE')
    UNION ALL
    SELECT t.typname::text FROM pg_type AS t
    WHERE t.typnamespace = 'memex'::regnamespace AND t.typname IN ('new_memory', 'memory_change', 'request_key')
        AND NOT has_type_privilege(t.oid, 'USAGE')
) AS o
