-- The state of a space and how much is in it, first statement of a snapshot.
SELECT {{state}}, s.memory_count, s.vector_count
FROM memex.spaces AS s
WHERE {{space}}
