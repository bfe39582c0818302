-- Many new memories by one statement: row by row they take PostgreSQL four times as long.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

-- Whether all of `p_rows` are to be stored, whatever the others are: no external id and no key was met before, nor a text
-- that is wanted once. Of fewer than twelve rows that is not asked, since each by itself takes less time.
CREATE FUNCTION memex.memex_new(
    p_space_key bigint, p_rows memex.new_memory [], p_once boolean [], p_keys memex.request_key [], p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_rows) < 12 THEN
        RETURN false;
    END IF;
    PERFORM FROM unnest(p_rows) AS r WHERE r.external_id IS NOT NULL
    GROUP BY r.agent_id, r.external_id HAVING count(*) > 1;
    IF FOUND THEN
        RETURN false;
    END IF;
    -- One by one, because no statistics are there yet that would tell how much a join reads.
    PERFORM FROM unnest(p_rows) AS r
    CROSS JOIN LATERAL (
        SELECT FROM memex.memories AS m
        WHERE m.space_key = p_space_key AND m.agent_id = r.agent_id AND m.external_id = r.external_id
        LIMIT 1
    ) AS found;
    IF FOUND THEN
        RETURN false;
    END IF;
    IF true = ANY (p_once) THEN
        PERFORM FROM unnest(p_rows) AS r GROUP BY r.agent_id, r.content_hash HAVING count(*) > 1;
        IF FOUND THEN
            RETURN false;
        END IF;
        PERFORM FROM unnest(p_rows) AS r
        WHERE memex.memex_original(p_space_key, r.agent_id, r.content_hash, p_now) IS NOT NULL;
        IF FOUND THEN
            RETURN false;
        END IF;
    END IF;
    PERFORM FROM unnest(p_rows) WITH ORDINALITY AS r
    INNER JOIN unnest(p_keys) WITH ORDINALITY AS k ON k.ordinality = r.ordinality
    CROSS JOIN LATERAL (
        SELECT FROM memex.idempotency_keys AS i
        WHERE i.space_key = p_space_key AND i.agent_id = r.agent_id AND i.route = k.route AND i.key = k.key
        LIMIT 1
    ) AS found;
    IF FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM unnest(p_rows) WITH ORDINALITY AS r
    INNER JOIN unnest(p_keys) WITH ORDINALITY AS k ON k.ordinality = r.ordinality AND k.key IS NOT NULL
    GROUP BY r.agent_id, k.route, k.key HAVING count(*) > 1;
    RETURN NOT FOUND;
END
$$;

-- Stores `p_rows`, all of which are new, in a space that the caller holds, in their order: a microsecond apart, so that
-- of equal texts one is the earliest. `place` counts from 1.
CREATE FUNCTION memex.memex_write_new(
    p_space_key bigint, p_model_id text, p_rows memex.new_memory [], p_keys memex.request_key [], p_version bigint,
    p_now timestamptz
) RETURNS TABLE (place integer, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY WITH given AS MATERIALIZED (
        SELECT r.*, r.ordinality::integer AS nth, p_now + (r.ordinality - 1) * interval '1 microsecond' AS moment
        FROM unnest(p_rows) WITH ORDINALITY AS r
    ), texts AS MATERIALIZED (
        -- Of each text the first one in here that lives.
        SELECT g.agent_id, g.content_hash, (array_agg(g.id ORDER BY g.nth))[1] AS id, min(g.nth) AS nth
        FROM given AS g WHERE g.expires_at IS NULL OR g.expires_at > g.moment
        GROUP BY g.agent_id, g.content_hash
    ), written AS (
        INSERT INTO memex.memories AS m (
            space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, tags, metadata,
            session_id, source, external_id, created_at, recorded_at, updated_at, expires_at, duplicate_of,
            space_version, terms, term_counts, terms_version
        )
        SELECT
            p_space_key, g.id, g.agent_id, g.content, g.content_hash, g.importance, g.memory_type, g.visibility, g.tags,
            g.metadata, g.session_id, g.source, g.external_id, coalesce(g.created_at, g.moment), g.moment, g.moment,
            coalesce(g.expires_at, g.moment + g.ttl_seconds * interval '1 second'),
            coalesce(memex.memex_original(p_space_key, g.agent_id, g.content_hash, p_now), t.id),
            p_version, g.terms, g.term_counts, g.terms_version
        FROM given AS g
        LEFT JOIN texts AS t ON t.agent_id = g.agent_id AND t.content_hash = g.content_hash AND t.nth < g.nth
        ORDER BY g.nth
        RETURNING m AS memory
    ), placed AS (
        INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
        SELECT p_space_key, g.id, 1, p_model_id, c.ordinality - 1, c.embedding
        FROM given AS g, unnest(g.vectors) WITH ORDINALITY AS c (embedding)
    ), noted AS (
        INSERT INTO memex.idempotency_keys (
            space_key, agent_id, route, key, digest, outcome, memory_id, memory_version, duplicate_of, used_at
        )
        SELECT
            p_space_key, g.agent_id, k.route, k.key, k.digest, 'created', g.id, 1, (w.memory).duplicate_of, g.moment
        FROM given AS g
        INNER JOIN unnest(p_keys) WITH ORDINALITY AS k ON k.ordinality = g.nth AND k.key IS NOT NULL
        INNER JOIN written AS w ON (w.memory).id = g.id
    )
    SELECT g.nth, w.memory FROM written AS w INNER JOIN given AS g ON g.id = (w.memory).id ORDER BY g.nth;
END
$$;

-- Stores `p_rows` in one space, in their order; `place` counts from 1, and times are those of the database clock.
-- `outcome`: `created`, or `found` where nothing was stored because a memory of the agent has the row's external id, or
-- its text where `p_once` is true; that one comes back. Only an expired one makes way: what can be restored keeps its id.
-- A row of `p_keys` that is not null makes its row one that is stored once: `replayed` then, if it was stored before,
-- with the memory as it was shown; or `conflict` or `gone`, as memex_recall has it, and nothing is stored.
CREATE OR REPLACE FUNCTION memex.memex_write(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_rows memex.new_memory [],
    p_once boolean [], p_keys memex.request_key []
) RETURNS TABLE (place integer, outcome text, replayed boolean, memory memex.memories)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint := memex.memex_enter(
        p_space_key, p_tenant_id, p_user_id, cardinality(p_rows),
        (SELECT coalesce(sum(cardinality(r.vectors)), 0) FROM unnest(p_rows) AS r)
    );
    v_now timestamptz := clock_timestamp(); -- after the lock: in the order of the versions
    v_row memex.new_memory;
    v_key memex.request_key;
    v_told record;
    v_original uuid;
    v_memories bigint; -- that are not there after all, with their vectors
    v_vectors bigint;
BEGIN
    PERFORM memex.memex_check_vectors(p_model_id, p_rows);
    IF memex.memex_new(p_space_key, p_rows, p_once, p_keys, v_now) THEN
        RETURN QUERY SELECT w.place, 'created', false, w.memory
        FROM memex.memex_write_new(p_space_key, p_model_id, p_rows, p_keys, v_version, v_now) AS w;
        RETURN;
    END IF;
    place := 0;
    FOREACH v_row IN ARRAY p_rows LOOP
        place := place + 1;
        outcome := 'created';
        replayed := false;
        v_memories := 0;
        v_vectors := 0;
        v_key := p_keys[place];
        IF v_key IS NOT NULL THEN
            SELECT r.* INTO v_told FROM memex.memex_recall(p_space_key, v_row.agent_id, v_key, v_now) AS r;
            IF FOUND THEN
                replayed := true;
                outcome := v_told.outcome;
                memory := v_told.memory;
            END IF;
        END IF;
        IF NOT replayed AND v_row.external_id IS NOT NULL THEN
            SELECT m.* INTO memory FROM memex.memories AS m
            WHERE m.space_key = p_space_key AND m.agent_id = v_row.agent_id AND m.external_id = v_row.external_id;
            IF FOUND AND memory.expires_at <= v_now THEN
                v_memories := 1;
                v_vectors := memex.memex_remove(p_space_key, v_version, v_now, v_row.agent_id, memory.id);
            ELSIF FOUND THEN
                outcome := 'found';
            END IF;
        END IF;
        IF NOT replayed AND outcome = 'created' THEN
            v_original := memex.memex_original(p_space_key, v_row.agent_id, v_row.content_hash, v_now);
            IF v_original IS NOT NULL AND p_once[place] THEN
                outcome := 'found';
                SELECT m.* INTO memory FROM memex.memories AS m WHERE m.space_key = p_space_key AND m.id = v_original;
            END IF;
        END IF;
        IF NOT replayed AND outcome = 'created' THEN
            INSERT INTO memex.memories AS m (
                space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, tags, metadata,
                session_id, source, external_id, created_at, recorded_at, updated_at, expires_at, duplicate_of,
                space_version, terms, term_counts, terms_version
            ) VALUES (
                p_space_key, v_row.id, v_row.agent_id, v_row.content, v_row.content_hash, v_row.importance,
                v_row.memory_type, v_row.visibility, v_row.tags, v_row.metadata, v_row.session_id, v_row.source,
                v_row.external_id, coalesce(v_row.created_at, v_now), v_now, v_now,
                coalesce(v_row.expires_at, v_now + v_row.ttl_seconds * interval '1 second'),
                v_original, v_version, v_row.terms, v_row.term_counts, v_row.terms_version
            ) RETURNING m.* INTO memory;
            INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
            SELECT p_space_key, v_row.id, 1, p_model_id, c.nth - 1, c.embedding
            FROM unnest(v_row.vectors) WITH ORDINALITY AS c (embedding, nth);
            v_now := v_now + interval '1 microsecond'; -- so that of equal texts one is the earliest
        ELSE
            v_memories := v_memories + 1;
            v_vectors := v_vectors + coalesce(cardinality(v_row.vectors), 0);
        END IF;
        IF v_memories > 0 THEN
            UPDATE memex.spaces AS s
            SET memory_count = s.memory_count - v_memories, vector_count = s.vector_count - v_vectors
            WHERE s.space_key = p_space_key;
        END IF;
        IF v_key IS NOT NULL AND NOT replayed THEN
            PERFORM memex.memex_note(
                p_space_key, v_row.agent_id, v_key, outcome, memory.id, memory.version, memory.duplicate_of, v_now
            );
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
