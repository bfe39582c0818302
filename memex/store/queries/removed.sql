-- The memories of the space $1 that were deleted after the version $2: one more than a delta may hold where there are
-- more.
SELECT uuid_send(t.memory_id) FROM memex.tombstones AS t WHERE t.space_key = $1 AND t.space_version > $2
LIMIT $3 + 1
