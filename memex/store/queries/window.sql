-- Moves the window of the streams to the next $3 memories of the space $1 after the id $2; COPY takes no parameters.
-- Returns the id of its last memory, null where the space ends in it.
SELECT
    uuid_send(w.last),
    set_config('memex.space', ($1::bigint)::text, true),
    set_config('memex.after', ($2::uuid)::text, true),
    set_config('memex.last', coalesce(w.last, 'ffffffff-ffff-ffff-ffff-ffffffffffff')::text, true)
FROM (
    SELECT
        (
            SELECT m.id FROM memex.memories AS m
            WHERE (m.space_key, m.id) > ($1, $2) AND m.space_key <= $1
            ORDER BY m.space_key, m.id
            LIMIT 1 OFFSET $3 - 1
        ) AS last
) AS w
