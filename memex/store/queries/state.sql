-- The state of a space, first statement of a snapshot.
SELECT {{state}}
FROM memex.spaces AS s
WHERE {{space}}
