-- What was known of the space $1 at the time $6: of each memory the version that was valid then. What it says of
-- others it says only if those are still there.
(
    SELECT
        m.space_key, m.id, m.agent_id, m.content, m.content_hash, m.importance, m.memory_type, m.visibility, m.state,
        m.tags, m.metadata, m.session_id, m.source, m.external_id, m.created_at, m.recorded_at, m.updated_at,
        m.expires_at, m.version, m.superseded_by, m.duplicate_of, m.terms, m.term_counts, true AS is_current
    FROM memex.memories AS m
    WHERE m.space_key = $1 AND m.updated_at <= $6::timestamptz
    UNION ALL
    SELECT
        e.space_key, e.memory_id, e.agent_id, e.content, e.content_hash, e.importance, e.memory_type, e.visibility,
        e.state, e.tags, e.metadata, e.session_id, e.source, e.external_id, e.created_at, e.recorded_at, e.valid_from,
        e.expires_at, e.version,
        (SELECT o.id FROM memex.memories AS o WHERE o.space_key = e.space_key AND o.id = e.superseded_by),
        (SELECT o.id FROM memex.memories AS o WHERE o.space_key = e.space_key AND o.id = e.duplicate_of), e.terms, e.term_counts, false
    FROM memex.memory_versions AS e
    WHERE e.space_key = $1 AND e.valid_from <= $6::timestamptz AND e.valid_to > $6::timestamptz
) AS m
