-- Spaces, their memories and vectors, and the functions that change a space.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

-- The schema `memex` and the extension are there already: Alembic keeps its own table in that schema too.
-- Everything is named with its schema, so no search_path matters and a pooler may sit in between.

-- What an old binary looks at before it touches anything: raised by each step that would make it do harm.
CREATE TABLE memex.compatibility (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    number integer NOT NULL CHECK (number > 0)
);

CREATE TABLE memex.models (
    id text COLLATE "C" PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 256),
    revision text NOT NULL CHECK (char_length(revision) BETWEEN 1 AND 256),
    dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4096),
    is_current boolean NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX models_current ON memex.models (is_current) WHERE is_current;

-- One row per (tenant, user), never deleted. Updated by every write: room for HOT updates.
CREATE TABLE memex.spaces (
    space_key bigint PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL CHECK (char_length(tenant_id) BETWEEN 1 AND 128),
    user_id text COLLATE "C" NOT NULL CHECK (char_length(user_id) BETWEEN 1 AND 128),
    -- Random per incarnation, so that a space made anew is never taken for the old one.
    epoch bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    version bigint NOT NULL CHECK (version > 0),
    floor_version bigint NOT NULL DEFAULT 0 CHECK (floor_version >= 0),
    memory_count bigint NOT NULL DEFAULT 0 CHECK (memory_count >= 0),
    vector_count bigint NOT NULL DEFAULT 0 CHECK (vector_count >= 0),
    CHECK (floor_version <= version)
) WITH (fillfactor = 60);

-- Constant true for the empty list: most rows have no tags and pay nothing.
CREATE FUNCTION memex.tags_valid(tags text []) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_ndims(tags) = 1 AND cardinality(tags) <= 32
        AND NOT EXISTS (SELECT FROM unnest(tags) AS t (tag) WHERE tag IS NULL OR char_length(tag) NOT BETWEEN 1 AND 64)
$$;

-- No foreign keys: rows come and go only through the functions below, which hold the space's row.
CREATE TABLE memex.memories (
    space_key bigint NOT NULL,
    id uuid NOT NULL,
    agent_id text COLLATE "C" NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 128),
    content text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 8000),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    importance double precision NOT NULL CHECK (importance BETWEEN 0 AND 2),
    memory_type text COLLATE "C" NOT NULL CHECK (memory_type IN ('episodic', 'semantic', 'procedural')),
    visibility text COLLATE "C" NOT NULL CHECK (visibility IN ('private', 'shared')),
    state text COLLATE "C" NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived', 'superseded')),
    tags text [] NOT NULL CHECK (tags = '{}' OR memex.tags_valid(tags)),
    -- The door bounds what is sent (16 KiB); here numbers may be spelt out, so the bound is what that can grow to.
    metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 1048576),
    session_id text COLLATE "C" CHECK (char_length(session_id) BETWEEN 1 AND 128),
    source text COLLATE "C" CHECK (char_length(source) BETWEEN 1 AND 128),
    external_id text COLLATE "C" CHECK (char_length(external_id) BETWEEN 1 AND 128),
    created_at timestamptz NOT NULL CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00'),
    recorded_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL CHECK (updated_at >= recorded_at),
    expires_at timestamptz CHECK (expires_at >= '0001-01-01 00:00:00+00' AND expires_at < '10000-01-01 00:00:00+00'),
    version integer NOT NULL DEFAULT 1 CHECK (version > 0),
    superseded_by uuid,
    duplicate_of uuid CHECK (duplicate_of <> id),
    space_version bigint NOT NULL CHECK (space_version > 0),
    terms integer [] NOT NULL,
    term_counts smallint [] NOT NULL CHECK (0 < ALL (term_counts)),
    terms_version smallint NOT NULL CHECK (terms_version > 0),
    PRIMARY KEY (space_key, id),
    CHECK (cardinality(terms) = cardinality(term_counts) AND cardinality(terms) <= 300000)
);
CREATE INDEX memories_id ON memex.memories (id);
CREATE INDEX memories_changes ON memex.memories (space_key, space_version);
CREATE INDEX memories_live ON memex.memories (space_key, agent_id) INCLUDE (expires_at) WHERE state = 'active';
-- Without `id`: with it this index would serve look-ups by id too, badly, and be chosen for them.
CREATE INDEX memories_text ON memex.memories (space_key, agent_id, content_hash, recorded_at);
CREATE INDEX memories_duplicates ON memex.memories (space_key, duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE UNIQUE INDEX memories_external ON memex.memories (space_key, agent_id, external_id)
WHERE external_id IS NOT NULL;

-- Narrow and in line, so that loading a space reads few pages.
CREATE TABLE memex.memory_vectors (
    space_key bigint NOT NULL,
    memory_id uuid NOT NULL,
    memory_version integer NOT NULL CHECK (memory_version > 0),
    model_id text COLLATE "C" NOT NULL,
    chunk smallint NOT NULL CHECK (chunk BETWEEN 0 AND 31),
    embedding halfvec NOT NULL CHECK (vector_dims(embedding) BETWEEN 1 AND 4096),
    PRIMARY KEY (space_key, memory_id, model_id, chunk)
);
ALTER TABLE memex.memory_vectors ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE TABLE memex.tombstones (
    space_key bigint NOT NULL,
    space_version bigint NOT NULL CHECK (space_version > 0),
    memory_id uuid NOT NULL,
    deleted_at timestamptz NOT NULL,
    PRIMARY KEY (space_key, space_version, memory_id)
);
CREATE INDEX tombstones_age ON memex.tombstones (deleted_at);

-- One memory to be stored. A row type, because an array of it may hold lists of unequal length.
CREATE TYPE memex.new_memory AS (
    id uuid,
    agent_id text,
    content text,
    content_hash bytea,
    importance double precision,
    memory_type text,
    visibility text,
    tags text [],
    metadata jsonb,
    session_id text,
    source text,
    external_id text,
    created_at timestamptz,
    expires_at timestamptz,
    ttl_seconds bigint,
    terms integer [],
    term_counts smallint [],
    terms_version smallint,
    vectors halfvec []
);


-- Takes the space's row and with it the right to change the space until the end of the transaction: the first thing
-- every write does, so that what follows sees all that earlier writers committed. Adds to the counts and returns the
-- new version.
CREATE FUNCTION memex.memex_enter(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_memories bigint, p_vectors bigint
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint;
BEGIN
    INSERT INTO memex.spaces AS s (space_key, tenant_id, user_id, version, memory_count, vector_count)
    VALUES (p_space_key, p_tenant_id, p_user_id, 1, p_memories, p_vectors)
    ON CONFLICT (space_key) DO UPDATE SET
        version = s.version + 1,
        memory_count = s.memory_count + p_memories,
        vector_count = s.vector_count + p_vectors
    WHERE s.tenant_id = p_tenant_id AND s.user_id = p_user_id
    RETURNING s.version INTO v_version;
    IF v_version IS NULL THEN
        RAISE EXCEPTION 'the key of this space belongs to another tenant or user' USING ERRCODE = 'MX001';
    END IF;
    RETURN v_version;
END
$$;

-- The earliest live memory of the same text, agent and space, or null.
CREATE FUNCTION memex.memex_original(p_space_key bigint, p_agent_id text, p_hash bytea, p_now timestamptz)
RETURNS uuid LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT m.id FROM memex.memories AS m
        WHERE m.space_key = p_space_key AND m.agent_id = p_agent_id AND m.content_hash = p_hash
            AND m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > p_now)
        ORDER BY m.recorded_at LIMIT 1
    );
END
$$;

-- By its body's own reference, wherever the extension lives: PL/pgSQL would look the name up at each first call.
CREATE FUNCTION memex.dimensions(embedding halfvec) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN vector_dims(embedding);

-- Refuses vectors that are not of the current model: ranking them with others would be nonsense.
CREATE FUNCTION memex.memex_check_vectors(p_model_id text, p_rows memex.new_memory []) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_dimensions integer;
BEGIN
    SELECT m.dimensions INTO v_dimensions FROM memex.models AS m WHERE m.id = p_model_id AND m.is_current;
    IF v_dimensions IS NULL THEN
        RAISE EXCEPTION 'the model of this write is not the current one' USING ERRCODE = 'MX002';
    END IF;
    PERFORM FROM unnest(p_rows) AS r, unnest(r.vectors) AS v (embedding)
    WHERE v.embedding IS NULL OR memex.dimensions(v.embedding) <> v_dimensions;
    IF FOUND THEN
        RAISE EXCEPTION 'a vector does not have the dimensions of its model' USING ERRCODE = 'MX002';
    END IF;
END
$$;

-- Takes one memory of an agent out of a space that the caller holds, and whose counts it lowers. Copies of the memory
-- point to the next earliest one. Returns how many vectors went with it, or null where there is no such memory.
CREATE FUNCTION memex.memex_remove(
    p_space_key bigint, p_version bigint, p_now timestamptz, p_agent_id text, p_id uuid
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_hash bytea;
    v_original uuid;
    v_vectors bigint;
BEGIN
    DELETE FROM memex.memories AS m
    WHERE m.space_key = p_space_key AND m.id = p_id AND m.agent_id = p_agent_id
    RETURNING m.content_hash INTO v_hash;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    DELETE FROM memex.memory_vectors AS v WHERE v.space_key = p_space_key AND v.memory_id = p_id;
    GET DIAGNOSTICS v_vectors = ROW_COUNT;
    INSERT INTO memex.tombstones (space_key, space_version, memory_id, deleted_at)
    VALUES (p_space_key, p_version, p_id, p_now);
    PERFORM FROM memex.memories AS m WHERE m.space_key = p_space_key AND m.duplicate_of = p_id LIMIT 1;
    IF FOUND THEN
        v_original := memex.memex_original(p_space_key, p_agent_id, v_hash, p_now);
        UPDATE memex.memories AS m SET duplicate_of = nullif(v_original, m.id)
        WHERE m.space_key = p_space_key AND m.duplicate_of = p_id;
    END IF;
    RETURN v_vectors;
END
$$;

-- Stores `p_rows` in one space, in their order. A row whose external id a memory of its agent has stores nothing: that
-- one comes back instead, `created` false. Only an expired one makes way: what can be restored keeps its id.
-- `place` counts from 1. Times are those of the database clock.
CREATE FUNCTION memex.memex_write(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_rows memex.new_memory []
) RETURNS TABLE (place integer, created boolean, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint := memex.memex_enter(
        p_space_key, p_tenant_id, p_user_id, cardinality(p_rows),
        (SELECT coalesce(sum(cardinality(r.vectors)), 0) FROM unnest(p_rows) AS r)
    );
    v_now timestamptz := clock_timestamp(); -- after the lock: in the order of the versions
    v_row memex.new_memory;
    v_memories bigint; -- that are not there after all, with their vectors
    v_vectors bigint;
BEGIN
    PERFORM memex.memex_check_vectors(p_model_id, p_rows);
    place := 0;
    FOREACH v_row IN ARRAY p_rows LOOP
        place := place + 1;
        created := true;
        v_memories := 0;
        IF v_row.external_id IS NOT NULL THEN
            SELECT m.* INTO memory FROM memex.memories AS m
            WHERE m.space_key = p_space_key AND m.agent_id = v_row.agent_id AND m.external_id = v_row.external_id;
            IF FOUND THEN
                created := coalesce(memory.expires_at <= v_now, false);
                v_memories := 1;
                v_vectors := CASE
                    WHEN created THEN memex.memex_remove(p_space_key, v_version, v_now, v_row.agent_id, memory.id)
                    ELSE coalesce(cardinality(v_row.vectors), 0)
                END;
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
                memex.memex_original(p_space_key, v_row.agent_id, v_row.content_hash, v_now),
                v_version, v_row.terms, v_row.term_counts, v_row.terms_version
            ) RETURNING m.* INTO memory;
            INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
            SELECT p_space_key, v_row.id, 1, p_model_id, c.nth - 1, c.embedding
            FROM unnest(v_row.vectors) WITH ORDINALITY AS c (embedding, nth);
            v_now := v_now + interval '1 microsecond'; -- so that of equal texts one is the earliest
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

-- Deletes the memories `p_ids`, each only if it is of the agent at the same place of `p_agents`. Returns those that
-- were. A space that does not exist is not made.
CREATE FUNCTION memex.memex_delete(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_agents text [], p_ids uuid []
) RETURNS TABLE (deleted uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint;
    v_now timestamptz;
    v_place integer;
    v_memories bigint := 0;
    v_vectors bigint := 0;
    v_removed bigint;
BEGIN
    UPDATE memex.spaces AS s SET version = s.version + 1
    WHERE s.space_key = p_space_key AND s.tenant_id = p_tenant_id AND s.user_id = p_user_id
    RETURNING s.version INTO v_version;
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
    UPDATE memex.spaces AS s
    SET memory_count = s.memory_count - v_memories, vector_count = s.vector_count - v_vectors
    WHERE s.space_key = p_space_key;
END
$$;

-- Forgets the tombstones of one space that are older than `p_before`. A resident index that may have missed one of
-- them is below the new floor and loads anew. Returns how many went.
CREATE FUNCTION memex.memex_purge(p_space_key bigint, p_before timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_highest bigint;
    v_count bigint;
BEGIN
    PERFORM FROM memex.spaces AS s WHERE s.space_key = p_space_key FOR UPDATE;
    SELECT max(t.space_version) INTO v_highest FROM memex.tombstones AS t
    WHERE t.space_key = p_space_key AND t.deleted_at < p_before;
    -- By version, not by age: after a clock step an older tombstone may carry a later time, and must not stay below the floor.
    DELETE FROM memex.tombstones AS t WHERE t.space_key = p_space_key AND t.space_version <= v_highest;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    UPDATE memex.spaces AS s SET floor_version = greatest(s.floor_version, v_highest)
    WHERE s.space_key = p_space_key AND v_highest IS NOT NULL;
    RETURN v_count;
END
$$;

INSERT INTO memex.compatibility (number) VALUES (1);
