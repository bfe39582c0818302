-- Keys by which callers repeat requests, and the functions that heed them.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

-- What an agent's request with a key led to. No content: the answer is made again from the version that it showed.
CREATE TABLE memex.idempotency_keys (
    space_key bigint NOT NULL,
    agent_id text COLLATE "C" NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 128),
    route text COLLATE "C" NOT NULL CHECK (char_length(route) BETWEEN 1 AND 32),
    key text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 1 AND 300),
    -- SHA-256 of the request. Null once the memory is deleted: a hash of a short text gives that text away.
    digest bytea CHECK (octet_length(digest) = 32),
    -- As the functions below tell it.
    outcome text COLLATE "C" NOT NULL CHECK (char_length(outcome) BETWEEN 1 AND 32),
    memory_id uuid NOT NULL,
    -- That which was shown, with this pointer; null where none was.
    memory_version integer CHECK (memory_version > 0),
    duplicate_of uuid,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (space_key, agent_id, route, key)
);
CREATE INDEX idempotency_keys_memory ON memex.idempotency_keys (memory_id, space_key);
CREATE INDEX idempotency_keys_age ON memex.idempotency_keys (used_at);

-- A caller's key with the route that it is for, and the SHA-256 of the request.
CREATE TYPE memex.request_key AS (
    route text,
    key text,
    digest bytea
);

-- A memory of a space that the caller holds, as it was in one version; null where that is gone. Columns in the order of
-- the table.
CREATE FUNCTION memex.memex_version(p_space_key bigint, p_id uuid, p_version integer) RETURNS memex.memories
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_memory memex.memories;
BEGIN
    SELECT m.* INTO v_memory FROM memex.memories AS m
    WHERE m.space_key = p_space_key AND m.id = p_id AND m.version = p_version;
    IF NOT FOUND THEN
        SELECT
            e.space_key, e.memory_id, e.agent_id, e.content, e.content_hash, e.importance, e.memory_type, e.visibility,
            e.state, e.tags, e.metadata, e.session_id, e.source, e.external_id, e.created_at, e.recorded_at,
            e.valid_from, e.expires_at, e.version, e.superseded_by, e.duplicate_of, 0, e.terms, e.term_counts,
            e.terms_version
        INTO v_memory FROM memex.memory_versions AS e
        WHERE e.space_key = p_space_key AND e.memory_id = p_id AND e.version = p_version;
    END IF;
    RETURN v_memory;
END
$$;

-- What a request with this key led to in the last 24 hours, in a space that the caller holds; no row where there was
-- none. `conflict`: it was another request. `gone`: what it showed is deleted.
CREATE FUNCTION memex.memex_recall(
    p_space_key bigint, p_agent_id text, p_key memex.request_key, p_now timestamptz
) RETURNS TABLE (outcome text, memory memex.memories) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_used record;
BEGIN
    SELECT k.* INTO v_used FROM memex.idempotency_keys AS k
    WHERE k.space_key = p_space_key AND k.agent_id = p_agent_id AND k.route = p_key.route AND k.key = p_key.key
        AND k.used_at > p_now - interval '24 hours';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    outcome := v_used.outcome;
    IF v_used.digest IS NULL THEN
        outcome := 'gone';
    ELSIF v_used.digest <> p_key.digest THEN
        outcome := 'conflict';
    ELSIF v_used.memory_version IS NOT NULL THEN
        memory := memex.memex_version(p_space_key, v_used.memory_id, v_used.memory_version);
        memory.duplicate_of := v_used.duplicate_of;
    END IF;
    RETURN NEXT;
END
$$;

-- Notes what a request with a key led to. A key that is noted already is older than 24 hours. Whoever shows a memory
-- names the first copy that lives where the one that it points to has expired, so that is noted.
CREATE FUNCTION memex.memex_note(
    p_space_key bigint, p_agent_id text, p_key memex.request_key, p_outcome text, p_id uuid, p_version integer,
    p_duplicate_of uuid, p_now timestamptz
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM memex.memories AS o
        WHERE o.space_key = p_space_key AND o.id = p_duplicate_of AND o.expires_at <= p_now
    ) THEN
        SELECT nullif(memex.memex_original(p_space_key, m.agent_id, m.content_hash, p_now), m.id) INTO p_duplicate_of
        FROM memex.memories AS m WHERE m.space_key = p_space_key AND m.id = p_id;
    END IF;
    INSERT INTO memex.idempotency_keys AS k (
        space_key, agent_id, route, key, digest, outcome, memory_id, memory_version, duplicate_of, used_at
    ) VALUES (
        p_space_key, p_agent_id, p_key.route, p_key.key, p_key.digest, p_outcome, p_id, p_version, p_duplicate_of, p_now
    ) ON CONFLICT (space_key, agent_id, route, key) DO UPDATE SET
        digest = excluded.digest, outcome = excluded.outcome, memory_id = excluded.memory_id,
        memory_version = excluded.memory_version, duplicate_of = excluded.duplicate_of, used_at = excluded.used_at;
END
$$;

-- Deletes a memory with all of its versions and returns how many vectors went, null where there was none. Of requests
-- that showed it stays that their keys were used, and nothing of what they said.
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
    UPDATE memex.idempotency_keys AS k SET digest = NULL, duplicate_of = NULL
    WHERE k.space_key = p_space_key AND k.memory_id = p_id;
    INSERT INTO memex.tombstones (space_key, space_version, memory_id, deleted_at)
    VALUES (p_space_key, p_version, p_id, p_now);
    PERFORM memex.memex_repoint(p_space_key, p_agent_id, v_hash, p_id, p_now);
    RETURN v_vectors;
END
$$;

-- Stores `p_rows` in one space, in their order; `place` counts from 1, and times are those of the database clock.
-- `outcome`: `created`, or `found` where nothing was stored because a memory of the agent has the row's external id, or
-- its text where `p_once` is true; that one comes back. Only an expired one makes way: what can be restored keeps its id.
-- A row of `p_keys` that is not null makes its row one that is stored once: `replayed` then, if it was stored before,
-- with the memory as it was shown; or `conflict` or `gone`, as memex_recall has it, and nothing is stored.
CREATE FUNCTION memex.memex_write(
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

-- As memex called it before there were keys.
CREATE OR REPLACE FUNCTION memex.memex_write(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_rows memex.new_memory [],
    p_once boolean []
) RETURNS TABLE (place integer, created boolean, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT w.place, w.outcome = 'created', w.memory
    FROM memex.memex_write(p_space_key, p_tenant_id, p_user_id, p_model_id, p_rows, p_once, '{}') AS w;
END
$$;

-- Changes memories of one space, each only if it is of the change's agent, lives and has one of the change's versions.
-- In their order, and `place` counts from 1: `outcome` is `not_found`, `stale`, `same` (nothing differs, so there is no
-- new version) or `changed`, and `memory` what is there now. A space that does not exist is not made, and one in which
-- nothing changed keeps its version. With a key in `p_keys` a change is made once: as in memex_write. What was not done
-- is not noted.
CREATE FUNCTION memex.memex_change(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_changes memex.memory_change [],
    p_keys memex.request_key []
) RETURNS TABLE (place integer, outcome text, replayed boolean, memory memex.memories)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_version bigint;
    v_now timestamptz;
    v_change memex.memory_change;
    v_key memex.request_key;
    v_told record;
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
        v_key := p_keys[place];
        IF v_key IS NOT NULL AND v_version IS NOT NULL THEN
            SELECT r.* INTO v_told FROM memex.memex_recall(p_space_key, v_change.agent_id, v_key, v_now) AS r;
            IF FOUND THEN
                replayed := true;
                outcome := v_told.outcome;
                memory := v_told.memory;
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;
        replayed := false;
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
            IF v_key IS NOT NULL THEN
                PERFORM memex.memex_note(
                    p_space_key, v_change.agent_id, v_key, outcome, memory.id, memory.version, memory.duplicate_of,
                    v_now
                );
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- As memex called it before there were keys.
CREATE OR REPLACE FUNCTION memex.memex_change(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_model_id text, p_changes memex.memory_change []
) RETURNS TABLE (place integer, outcome text, memory memex.memories) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT c.place, c.outcome, c.memory
    FROM memex.memex_change(p_space_key, p_tenant_id, p_user_id, p_model_id, p_changes, '{}') AS c;
END
$$;

-- Deletes memories of one space, each only if it is of the agent beside it. In their order, and `place` counts from 1:
-- `outcome` is `not_found` or `deleted`. A space that does not exist is not made, and one of which nothing was deleted
-- keeps its version. With a key in `p_keys` as in memex_change.
CREATE FUNCTION memex.memex_delete(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_agents text [], p_ids uuid [], p_keys memex.request_key []
) RETURNS TABLE (place integer, outcome text, replayed boolean) LANGUAGE plpgsql VOLATILE AS $$
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
    v_now := clock_timestamp();
    FOR v_place IN 1 .. cardinality(p_ids) LOOP
        place := v_place;
        outcome := 'not_found';
        replayed := false;
        IF p_keys[place] IS NOT NULL AND v_version IS NOT NULL THEN
            SELECT r.outcome INTO outcome FROM memex.memex_recall(p_space_key, p_agents[place], p_keys[place], v_now) AS r;
            replayed := FOUND;
        END IF;
        IF NOT replayed AND v_version IS NOT NULL THEN
            v_removed := memex.memex_remove(p_space_key, v_version, v_now, p_agents[place], p_ids[place]);
            outcome := CASE WHEN v_removed IS NULL THEN 'not_found' ELSE 'deleted' END;
            v_memories := v_memories + (v_removed IS NOT NULL)::integer;
            v_vectors := v_vectors + coalesce(v_removed, 0);
            IF v_removed IS NOT NULL AND p_keys[place] IS NOT NULL THEN
                PERFORM memex.memex_note(
                    p_space_key, p_agents[place], p_keys[place], outcome, p_ids[place], NULL, NULL, v_now
                );
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE memex.spaces AS s SET
        version = v_version, memory_count = s.memory_count - v_memories, vector_count = s.vector_count - v_vectors
    WHERE s.space_key = p_space_key AND v_memories > 0;
END
$$;

-- As memex called it before there were keys.
CREATE OR REPLACE FUNCTION memex.memex_delete(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_agents text [], p_ids uuid []
) RETURNS TABLE (deleted uuid) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT p_ids[d.place]
    FROM memex.memex_delete(p_space_key, p_tenant_id, p_user_id, p_agents, p_ids, '{}') AS d
    WHERE d.outcome = 'deleted'
    ORDER BY d.place;
END
$$;
