-- The vectors of the model $6 for the text of the hash $5, from one memory of the agent $4 that holds it.
SELECT ARRAY(
    SELECT v.embedding FROM memex.memory_vectors AS v
    WHERE v.space_key = m.space_key AND v.memory_id = m.id AND v.model_id = $6
    ORDER BY v.chunk
)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE {{space}} AND m.agent_id = $4 AND m.content_hash = $5
LIMIT 1
