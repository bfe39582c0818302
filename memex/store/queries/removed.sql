-- The memories of the space $1 that were deleted after the version $2.
SELECT uuid_send(t.memory_id) FROM memex.tombstones AS t WHERE t.space_key = $1 AND t.space_version > $2
