-- The vectors of a memory, those of the current model.
ARRAY(
    SELECT v.embedding FROM memex.memory_vectors AS v
    WHERE
        v.space_key = m.space_key AND v.memory_id = m.id
        AND v.model_id = (SELECT c.id FROM memex.models AS c WHERE c.is_current)
    ORDER BY v.chunk
)
