-- How many live memories the agents $4 have of one user.
SELECT count(*)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE {{space}} AND {{visible}}
