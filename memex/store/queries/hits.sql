-- The state of a space, and the contents of those of the ids $7 that the scope may see and that live, the archived ones
-- among them where $6 says so: at least one row if the space exists.
SELECT {{state}}, {{shown}}, {{links}}
FROM memex.spaces AS s
LEFT JOIN memex.memories AS m
    ON
        s.space_key = m.space_key AND m.id = any($7) AND {{visible}} AND {{lasting}}
        AND (m.state = 'active' OR (m.state = 'archived' AND $6))
WHERE {{space}}
