-- The vectors of the window's memories (`window.sql`) in the same order, those of the current model.
COPY (
    SELECT uuid_send(v.memory_id), v.embedding
    FROM memex.memory_vectors AS v
    WHERE
        (v.space_key, v.memory_id) > (current_setting('memex.space')::bigint, current_setting('memex.after')::uuid)
        AND (v.space_key, v.memory_id) <= (current_setting('memex.space')::bigint, current_setting('memex.last')::uuid)
        AND v.model_id = (SELECT c.id FROM memex.models AS c WHERE c.is_current)
    ORDER BY v.space_key, v.memory_id, v.chunk
) TO STDOUT (FORMAT binary)
