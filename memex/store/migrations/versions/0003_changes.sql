-- Earlier versions of memories, and the functions that change a memory or write each text once.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

-- What a memory was from `valid_from` until `valid_to`: all of its columns, checked when they were the current ones.
-- They go with their memory. One index alone, so that no plan made while the table was small can choose a bad one.
CREATE TABLE memex.memory_versions (
    space_key bigint NOT NULL,
    memory_id uuid NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    agent_id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    content_hash bytea NOT NULL,
    importance double precision NOT NULL,
    memory_type text COLLATE "C" NOT NULL,
    visibility text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    tags text [] NOT NULL,
    metadata jsonb NOT NULL,
    session_id text COLLATE "C",
    source text COLLATE "C",
    external_id text COLLATE "C",
    created_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    expires_at timestamptz,
    superseded_by uuid,
    -- As it was then: the memory may be gone by now.
    duplicate_of uuid,
    terms integer [] NOT NULL,
    term_counts smallint [] NOT NULL,
    terms_version smallint NOT NULL,
    -- Of the model that was the current one when the version ended, one per chunk.
    model_id text COLLATE "C",
    vectors halfvec [] NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz NOT NULL,
    PRIMARY KEY (space_key, memory_id, version),
    CHECK (valid_from < valid_to)
);
-- Vectors do not get smaller by compression.
ALTER TABLE memex.memory_versions ALTER COLUMN vectors SET STORAGE EXTERNAL;

-- What one memory shall become. Null leaves a field as it is.
CREATE TYPE memex.memory_change AS (
    id uuid,
    agent_id text,
    -- Those that the memory may have now; null is any.
    versions integer [],
    importance double precision,
    visibility text,
    state text,
    tags text [],
    metadata jsonb,
    -- Whether the next two are meant, of which both null are never.
    expiry boolean,
    expires_at timestamptz,
    ttl_seconds bigint,
    content text,
    content_hash bytea,
    terms integer [],
    term_counts smallint [],
    terms_version smallint,
    -- Whether the vectors are the caller's own: then they are a change even where the text is none.
    ready boolean,
    vectors halfvec []
);


-- Refuses vectors that are not of the current model: ranking them with others would be nonsense.
CREATE FUNCTION memex.memex_check_vectors(p_model_id text, p_vectors halfvec []) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_dimensions integer;
BEGIN
    SELECT m.dimensions INTO v_dimensions FROM memex.models AS m WHERE m.id = p_model_id AND m.is_current;
    IF v_dimensions IS NULL THEN
        RAISE EXCEPTION 'the model of this write is not the current one' USING ERRCODE = 'MX002';
    END IF;
    PERFORM FROM unnest(p_vectors) AS v (embedding)
    WHERE v.embedding IS NULL OR memex.dimensions(v.embedding) <> v_dimensions;
    IF FOUND THEN
        RAISE EXCEPTION 'a vector does not have the dimensions of its model' USING ERRCODE = 'MX002';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION memex.memex_check_vectors(p_model_id text, p_rows memex.new_memory []) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM memex.memex_check_vectors(
        p_model_id, ARRAY(SELECT v.embedding FROM unnest(p_rows) AS r, unnest(r.vectors) AS v (embedding))
    );
END
$$;

-- Copies of `p_id`, whose text had the hash `p_hash` and which is no longer to be found by it, point to the next
-- earliest one.
CREATE FUNCTION memex.memex_repoint(p_space_key bigint, p_agent_id text, p_hash bytea, p_id uuid, p_now timestamptz)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_original uuid;
BEGIN
    PERFORM FROM memex.memories AS m WHERE m.space_key = p_space_key AND m.duplicate_of = p_id LIMIT 1;
    IF FOUND THEN
        v_original := memex.memex_original(p_space_key, p_agent_id, p_hash, p_now);
        UPDATE memex.memories AS m SET duplicate_of = nullif(v_original, m.id)
        WHERE m.space_key = p_space_key AND m.duplicate_of = p_id;
    END IF;
END
$$;

-- Takes one memory of an agent out of a space that the caller holds, and whose counts it lowers; its earlier versions
-- go too. Returns how many vectors went with it, or null where there is no such memory.
CREATE OR REPLACE FUNCTION memex.memex_remove(
    p_space_key bigint, p_version bigint, p_now timestamptz, p_agent_id text, p_id uuid
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_hash bytea;
    v_vectors bigint;
BEGIN
    DELETE FROM memex.memories AS m
    WHERE m.space_key = p_space_key AND m.id = p_id AND m.agent_id = p_agent_id
    RETURNING m.content_hash INTO v_hash;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    DELETE FROM memex.memory_versions AS e WHERE e.space_key = p_space_key AND e.memory_id = p_id;
    DELETE FROM memex.memory_vectors AS v WHERE v.space_key = p_space_key AND v.memory_id = p_id;
    GET DIAGNOSTICS v_vectors = ROW_COUNT;
    INSERT INTO memex.tombstones (space_key, space_version, memory_id, deleted_at)
    VALUES (p_space_key, p_version, p_id, p_now);
    PERFORM memex.memex_repoint(p_space_key, p_agent_id, v_hash, p_id, p_now);
    RETURN v_vectors;
END
$$;

-- Deletes the memories `p_ids`, each only if it is of the agent at the same place of `p_agents`. Returns those that
-- were. A space that does not exist is not made, and one of which nothing was deleted keeps its version.
CREATE OR REPLACE FUNCTION memex.memex_delete(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_agents text [], p_ids uuid []
) RETURNS TABLE (deleted uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint;
    v_now timestamptz;
    v_memories bigint := 0;
    v_vectors bigint := 0;
    v_removed bigint;
BEGIN
    SELECT s.version + 1 INTO v_version FROM memex.spaces AS s
    WHERE s.space_key = p_space_key AND s.tenant_id = p_tenant_id AND s.user_id = p_user_id
    FOR UPDATE;
    IF v_version IS NULL THEN
        RETURN;
    END IF;
    v_now := clock_timestamp();
    FOR v_place IN 1 .. cardinality(p_ids) LOOP
        v_removed := memex.memex_remove(p_space_key, v_version, v_now, p_agents[v_place], p_ids[v_place]);
        CONTINUE WHEN v_removed IS NULL;
        deleted := p_ids[v_place];
        v_memories := v_memories + 1;
        v_vectors := v_vectors + v_removed;
        RETURN NEXT;
    END LOOP;
    UPDATE memex.spaces AS s SET
        version = v_version, memory_count = s.memory_count - v_memories, vector_count = s.vector_count - v_vectors
    WHERE s.space_key = p_space_key AND v_memories > 0;
END
$$;

-- Stores `p_rows` in one space, in their order. A row whose external id a memory of its agent has stores nothing: that
-- one comes back instead, `created` false. Only an expired one makes way: what can be restored keeps its id. Where
-- `p_once` is true, so it is with a row whose text the agent has.
-- `place` counts from 1. Times are those of the database clock.
CREATE FUNCTION memex.memex_write(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_rows memex.new_memory [],
    p_once boolean []
) RETURNS TABLE (place integer, created boolean, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint := memex.memex_enter(
        p_space_key, p_tenant_id, p_user_id, cardinality(p_rows),
        (SELECT coalesce(sum(cardinality(r.vectors)), 0) FROM unnest(p_rows) AS r)
    );
    v_now timestamptz := clock_timestamp(); -- after the lock: in the order of the versions
    v_row memex.new_memory;
    v_original uuid;
    v_memories bigint; -- that are not there after all, with their vectors
    v_vectors bigint;
BEGIN
    PERFORM memex.memex_check_vectors(p_model_id, p_rows);
    place := 0;
    FOREACH v_row IN ARRAY p_rows LOOP
        place := place + 1;
        created := true;
        v_memories := 0;
        v_vectors := 0;
        IF v_row.external_id IS NOT NULL THEN
            SELECT m.* INTO memory FROM memex.memories AS m
            WHERE m.space_key = p_space_key AND m.agent_id = v_row.agent_id AND m.external_id = v_row.external_id;
            IF FOUND THEN
                created := coalesce(memory.expires_at <= v_now, false);
                IF created THEN
                    v_memories := 1;
                    v_vectors := memex.memex_remove(p_space_key, v_version, v_now, v_row.agent_id, memory.id);
                END IF;
            END IF;
        END IF;
        IF created THEN
            v_original := memex.memex_original(p_space_key, v_row.agent_id, v_row.content_hash, v_now);
            IF v_original IS NOT NULL AND p_once[place] THEN
                created := false;
                SELECT m.* INTO memory FROM memex.memories AS m WHERE m.space_key = p_space_key AND m.id = v_original;
            END IF;
        END IF;
        IF created THEN
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
        RETURN NEXT;
    END LOOP;
END
$$;

-- As memex called it before texts could be asked to be there once.
CREATE OR REPLACE FUNCTION memex.memex_write(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_rows memex.new_memory []
) RETURNS TABLE (place integer, created boolean, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT w.* FROM memex.memex_write(p_space_key, p_tenant_id, p_user_id, p_model_id, p_rows, '{}') AS w;
END
$$;

-- A memory with the fields that a change names; version, times of change and pointer are the caller's. One that was
-- superseded stays so.
CREATE FUNCTION memex.memex_changed(p_memory memex.memories, p_change memex.memory_change, p_now timestamptz)
RETURNS memex.memories LANGUAGE plpgsql STABLE AS $$
BEGIN
    p_memory.importance := coalesce(p_change.importance, p_memory.importance);
    p_memory.visibility := coalesce(p_change.visibility, p_memory.visibility);
    p_memory.tags := coalesce(p_change.tags, p_memory.tags);
    p_memory.metadata := coalesce(p_change.metadata, p_memory.metadata);
    IF p_memory.state <> 'superseded' THEN
        p_memory.state := coalesce(p_change.state, p_memory.state);
    END IF;
    IF p_change.expiry THEN
        p_memory.expires_at := coalesce(p_change.expires_at, p_now + p_change.ttl_seconds * interval '1 second');
    END IF;
    IF p_change.content <> p_memory.content THEN
        p_memory.content := p_change.content;
        p_memory.content_hash := p_change.content_hash;
        p_memory.terms := p_change.terms;
        p_memory.term_counts := p_change.term_counts;
        p_memory.terms_version := p_change.terms_version;
    END IF;
    RETURN p_memory;
END
$$;

-- The vectors of a memory, one per chunk.
CREATE FUNCTION memex.memex_vectors(p_space_key bigint, p_id uuid, p_model_id text) RETURNS halfvec []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT v.embedding FROM memex.memory_vectors AS v
        WHERE v.space_key = p_space_key AND v.memory_id = p_id AND v.model_id = p_model_id
        ORDER BY v.chunk
    );
END
$$;

-- Puts what a memory is aside as an earlier version, valid until `p_until`.
CREATE FUNCTION memex.memex_keep(p_memory memex.memories, p_model_id text, p_vectors halfvec [], p_until timestamptz)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO memex.memory_versions (
        space_key, memory_id, version, agent_id, content, content_hash, importance, memory_type, visibility, state,
        tags, metadata, session_id, source, external_id, created_at, recorded_at, expires_at, superseded_by,
        duplicate_of, terms, term_counts, terms_version, model_id, vectors, valid_from, valid_to
    ) VALUES (
        p_memory.space_key, p_memory.id, p_memory.version, p_memory.agent_id, p_memory.content,
        p_memory.content_hash, p_memory.importance, p_memory.memory_type, p_memory.visibility, p_memory.state,
        p_memory.tags, p_memory.metadata, p_memory.session_id, p_memory.source, p_memory.external_id,
        p_memory.created_at, p_memory.recorded_at, p_memory.expires_at, p_memory.superseded_by,
        p_memory.duplicate_of, p_memory.terms, p_memory.term_counts, p_memory.terms_version, p_model_id, p_vectors,
        p_memory.updated_at, p_until
    );
END
$$;

-- Takes in the vectors of a memory's new text instead of all that it had.
CREATE FUNCTION memex.memex_replace_vectors(p_memory memex.memories, p_model_id text, p_vectors halfvec [])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_gone bigint;
BEGIN
    DELETE FROM memex.memory_vectors AS v WHERE v.space_key = p_memory.space_key AND v.memory_id = p_memory.id;
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
    SELECT p_memory.space_key, p_memory.id, p_memory.version, p_model_id, c.nth - 1, c.embedding
    FROM unnest(p_vectors) WITH ORDINALITY AS c (embedding, nth);
    UPDATE memex.spaces AS s SET vector_count = s.vector_count + cardinality(p_vectors) - v_gone
    WHERE s.space_key = p_memory.space_key AND cardinality(p_vectors) <> v_gone;
END
$$;

-- Where a memory that has another text, or is to be found again, stands among the copies of its text: it points to the
-- earliest one, or is that itself, and then the others point to it. Returns its pointer.
CREATE FUNCTION memex.memex_point(p_memory memex.memories, p_now timestamptz)
RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_original uuid := memex.memex_original(p_memory.space_key, p_memory.agent_id, p_memory.content_hash, p_now);
BEGIN
    IF v_original = p_memory.id THEN
        UPDATE memex.memories AS m SET duplicate_of = p_memory.id
        WHERE m.space_key = p_memory.space_key AND m.agent_id = p_memory.agent_id
            AND m.content_hash = p_memory.content_hash AND m.id <> p_memory.id AND m.state = 'active'
            AND m.duplicate_of IS DISTINCT FROM p_memory.id;
        v_original := NULL;
    END IF;
    UPDATE memex.memories AS m SET duplicate_of = v_original
    WHERE m.space_key = p_memory.space_key AND m.id = p_memory.id AND m.duplicate_of IS DISTINCT FROM v_original;
    RETURN v_original;
END
$$;

-- Stores a changed memory in the place of `p_before`, which is kept as a version, and puts the pointers right that the
-- change concerns. `p_vectors` are those of its text so far.
CREATE FUNCTION memex.memex_store_change(
    p_before memex.memories, p_after memex.memories, p_model_id text, p_vectors halfvec [], p_now timestamptz
) RETURNS memex.memories LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- A clock that went back must not make a version that was never valid.
    p_after.updated_at := greatest(p_now, p_before.updated_at + interval '1 microsecond');
    p_after.version := p_before.version + 1;
    PERFORM memex.memex_keep(p_before, p_model_id, p_vectors, p_after.updated_at);
    UPDATE memex.memories AS m SET
        content = p_after.content, content_hash = p_after.content_hash, importance = p_after.importance,
        visibility = p_after.visibility, state = p_after.state, tags = p_after.tags, metadata = p_after.metadata,
        expires_at = p_after.expires_at, updated_at = p_after.updated_at, version = p_after.version,
        space_version = p_after.space_version, terms = p_after.terms, term_counts = p_after.term_counts,
        terms_version = p_after.terms_version
    WHERE m.space_key = p_after.space_key AND m.id = p_after.id;
    IF p_after.content_hash <> p_before.content_hash OR p_after.state <> p_before.state THEN
        PERFORM memex.memex_repoint(
            p_before.space_key, p_before.agent_id, p_before.content_hash, p_before.id, p_now
        );
        IF p_after.content_hash <> p_before.content_hash OR p_after.state = 'active' THEN
            p_after.duplicate_of := memex.memex_point(p_after, p_now);
        END IF;
    END IF;
    RETURN p_after;
END
$$;

-- Does one change to a memory of a space that the caller holds and gives the version `p_version`. `p_vectors` are those
-- of the memory's text so far; a parameter, because a variable's type would be looked up by name, wherever the extension
-- lives. Returns what the memory is now: as it is stored and in the same version, where nothing differs.
CREATE FUNCTION memex.memex_apply(
    p_memory memex.memories, p_change memex.memory_change, p_version bigint, p_model_id text, p_vectors halfvec [],
    p_now timestamptz
) RETURNS memex.memories LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_after memex.memories := memex.memex_changed(p_memory, p_change, p_now);
    v_moved boolean := v_after.content <> p_memory.content OR (p_change.ready AND p_change.vectors <> p_vectors);
BEGIN
    IF v_moved OR v_after IS DISTINCT FROM p_memory THEN
        v_after.space_version := p_version;
        v_after := memex.memex_store_change(p_memory, v_after, p_model_id, p_vectors, p_now);
        IF v_moved THEN
            PERFORM memex.memex_replace_vectors(v_after, p_model_id, p_change.vectors);
        END IF;
        RETURN v_after;
    END IF;
    RETURN p_memory; -- equal is not the same: 1.0 is written otherwise than 1
END
$$;

-- Changes memories of one space, each only if it is of the change's agent, lives and has one of the change's versions.
-- In their order, and `place` counts from 1: `outcome` is `not_found`, `stale`, `same` (nothing differs, so there is no
-- new version) or `changed`, and `memory` what is there now. A space that does not exist is not made, and one in which
-- nothing changed keeps its version.
CREATE FUNCTION memex.memex_change(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_changes memex.memory_change []
) RETURNS TABLE (place integer, outcome text, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint;
    v_now timestamptz;
    v_change memex.memory_change;
    v_before memex.memories;
BEGIN
    SELECT s.version + 1 INTO v_version FROM memex.spaces AS s
    WHERE s.space_key = p_space_key AND s.tenant_id = p_tenant_id AND s.user_id = p_user_id
    FOR UPDATE;
    v_now := clock_timestamp();
    PERFORM memex.memex_check_vectors(
        p_model_id, ARRAY(SELECT v.embedding FROM unnest(p_changes) AS c, unnest(c.vectors) AS v (embedding))
    );
    place := 0;
    FOREACH v_change IN ARRAY p_changes LOOP
        place := place + 1;
        SELECT m.* INTO v_before FROM memex.memories AS m
        WHERE m.space_key = p_space_key AND m.id = v_change.id AND m.agent_id = v_change.agent_id
            AND v_version IS NOT NULL AND (m.expires_at IS NULL OR m.expires_at > v_now);
        memory := v_before;
        IF NOT FOUND THEN
            outcome := 'not_found';
        ELSIF v_before.version <> ALL (v_change.versions) THEN
            outcome := 'stale';
        ELSE
            memory := memex.memex_apply(
                v_before, v_change, v_version, p_model_id,
                memex.memex_vectors(p_space_key, v_before.id, p_model_id), v_now
            );
            outcome := CASE WHEN memory.version = v_before.version THEN 'same' ELSE 'changed' END;
            IF outcome = 'changed' THEN
                UPDATE memex.spaces AS s SET version = v_version
                WHERE s.space_key = p_space_key AND s.version <> v_version;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
