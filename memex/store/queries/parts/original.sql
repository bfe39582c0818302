-- Which memory a memory repeats: what it was stored as a copy of or, where that has expired since, the first copy that
-- lives. What this very statement has written is not seen here, and has not expired.
CASE
    WHEN m.duplicate_of IS NULL THEN NULL
    WHEN (
        SELECT o.expires_at <= now() FROM memex.memories AS o WHERE o.space_key = m.space_key AND o.id = m.duplicate_of
    ) THEN nullif(memex.memex_original(m.space_key, m.agent_id, m.content_hash, now()), m.id)
    ELSE m.duplicate_of
END::text
