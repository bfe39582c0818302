-- What the resident index holds of a memory, in the order of IndexRow; vectors of the model $2 alone.
uuid_send(m.id),
m.agent_id,
m.memory_type,
m.visibility,
m.state,
m.tags,
m.session_id,
m.source,
m.content_hash,
m.importance,
m.created_at,
m.expires_at,
m.terms,
m.term_counts,
ARRAY(
    SELECT v.embedding FROM memex.memory_vectors AS v
    WHERE v.space_key = m.space_key AND v.memory_id = m.id AND v.model_id = $2
    ORDER BY v.chunk
)
