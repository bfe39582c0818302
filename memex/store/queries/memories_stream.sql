-- The memories of the window (`window.sql`) by id, with what the resident index holds of them but the vectors. Compared
-- and ordered as the primary key is, so that the planner takes no other index, whatever it thinks of a space.
COPY (
    SELECT {{indexed}}
    FROM memex.memories AS m
    WHERE
        (m.space_key, m.id) > (current_setting('memex.space')::bigint, current_setting('memex.after')::uuid)
        AND (m.space_key, m.id) <= (current_setting('memex.space')::bigint, current_setting('memex.last')::uuid)
    ORDER BY m.space_key, m.id
) TO STDOUT (FORMAT binary)
