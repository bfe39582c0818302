-- The ids of what the scope may see and the path $6 is true of with the variables $7: ascending, one after another.
SELECT string_agg(uuid_send(m.id), ''::bytea ORDER BY m.id)
FROM memex.spaces AS s
INNER JOIN memex.memories AS m ON s.space_key = m.space_key
WHERE {{space}} AND {{visible}} AND {{lasting}} AND jsonb_path_match(m.metadata, $6, $7, true)
