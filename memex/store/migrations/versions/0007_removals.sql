-- Keys of deletions by conditions. Those go part by part, so a key stands for what is done and what is left to do.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

CREATE TABLE memex.removals (
    tenant_id text COLLATE "C" NOT NULL CHECK (char_length(tenant_id) BETWEEN 1 AND 128),
    agent_id text COLLATE "C" NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 128),
    key text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 1 AND 300),
    -- SHA-256 of the request.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- What was stored later stays, however often the request is repeated.
    began timestamptz NOT NULL,
    deleted bigint NOT NULL DEFAULT 0 CHECK (deleted >= 0),
    done boolean NOT NULL DEFAULT false,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, key)
);
CREATE INDEX removals_age ON memex.removals (used_at);

-- Begins a deletion with a key, or tells of the one that began with it in the last 24 hours. One that deleted nothing
-- and is not done makes way for another: what failed is not kept. No row: the key is of another request.
CREATE FUNCTION memex.memex_begin_removal(
    p_tenant_id text, p_agent_id text, p_key text, p_digest bytea
) RETURNS TABLE (began timestamptz, deleted bigint, done boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO memex.removals AS r (tenant_id, agent_id, key, digest, began, used_at)
    VALUES (p_tenant_id, p_agent_id, p_key, p_digest, v_now, v_now)
    ON CONFLICT (tenant_id, agent_id, key) DO UPDATE SET
        digest = excluded.digest, began = excluded.began, deleted = 0, done = false, used_at = excluded.used_at
    WHERE r.used_at <= v_now - interval '24 hours' OR (r.digest <> excluded.digest AND r.deleted = 0 AND NOT r.done);
    RETURN QUERY SELECT r.began, r.deleted, r.done FROM memex.removals AS r
    WHERE r.tenant_id = p_tenant_id AND r.agent_id = p_agent_id AND r.key = p_key AND r.digest = p_digest;
END
$$;

-- Deletes memories of the agent in one space and counts them to the deletion that began then, in one transaction. Null:
-- nothing was deleted, for it is done, or has made way for another. Whoever holds a deletion waits for one space and
-- holds none, so nobody waits in a circle.
CREATE FUNCTION memex.memex_continue_removal(
    p_space_key bigint, p_tenant_id text, p_user_id text, p_agent_id text, p_key text, p_began timestamptz, p_ids uuid []
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_deleted bigint;
BEGIN
    PERFORM FROM memex.removals AS r
    WHERE r.tenant_id = p_tenant_id AND r.agent_id = p_agent_id AND r.key = p_key AND r.began = p_began AND NOT r.done
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT count(*) INTO v_deleted
    FROM memex.memex_delete(
        p_space_key, p_tenant_id, p_user_id, array_fill(p_agent_id, ARRAY[cardinality(p_ids)]), p_ids, '{}'
    ) AS d
    WHERE d.outcome = 'deleted';
    UPDATE memex.removals AS r SET deleted = r.deleted + v_deleted, used_at = clock_timestamp()
    WHERE r.tenant_id = p_tenant_id AND r.agent_id = p_agent_id AND r.key = p_key;
    RETURN v_deleted;
END
$$;

-- The deletion that began then is done; tells how many memories it was in all, and whether it was done before. No row: it
-- has made way for another.
CREATE FUNCTION memex.memex_end_removal(
    p_tenant_id text, p_agent_id text, p_key text, p_began timestamptz
) RETURNS TABLE (deleted bigint, replayed boolean) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT r.deleted, r.done INTO deleted, replayed FROM memex.removals AS r
    WHERE r.tenant_id = p_tenant_id AND r.agent_id = p_agent_id AND r.key = p_key AND r.began = p_began
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE memex.removals AS r SET done = true, used_at = clock_timestamp()
    WHERE r.tenant_id = p_tenant_id AND r.agent_id = p_agent_id AND r.key = p_key AND NOT r.done;
    RETURN NEXT;
END
$$;
