-- Statistics to begin with, as of one big space and one current model of many. What the planner guesses for an empty table is that a space has one row,
-- so that any index of the space will do; such a plan is cached, and scans the space while it grows, until the first
-- automatic ANALYZE a minute later. TRUNCATE leaves statistics as they are; not in the transaction that made the table.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

DO $$
BEGIN
    LOCK TABLE memex.memories IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM memex.memories) THEN
        RETURN;
    END IF;
    INSERT INTO memex.memories (
        space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, tags, metadata,
        external_id, created_at, recorded_at, updated_at, duplicate_of, space_version, terms, term_counts, terms_version
    )
    SELECT
        0, gen_random_uuid(), 'a', 'a', sha256(n::text::bytea), 1, 'episodic', 'private', '{}', '{}',
        n::text, now(), now() + n * interval '1 second', now() + n * interval '1 second', gen_random_uuid(), n, '{1}', '{1}', 1
    FROM generate_series(1, 2000) AS g (n);
    ANALYZE memex.memories;
    TRUNCATE memex.memories;
END
$$;

-- Of the models one is current; a guess for the empty table is hundreds, for which an index is read as a bitmap.
DO $$
BEGIN
    LOCK TABLE memex.models IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM memex.models) THEN
        RETURN;
    END IF;
    INSERT INTO memex.models (id, revision, dimensions, is_current)
    SELECT n::text, 'r', 1, n = 1 FROM generate_series(1, 2000) AS g (n);
    ANALYZE memex.models;
    TRUNCATE memex.models;
END
$$;
