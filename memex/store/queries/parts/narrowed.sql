-- What the conditions of a list or a removal let through; null is no condition.
($6::text [] IS NULL OR m.memory_type = any($6))
AND ($7::timestamptz IS NULL OR m.created_at >= $7)
AND ($8::timestamptz IS NULL OR m.created_at < $8)
AND ($9::text [] IS NULL OR m.tags && $9)
AND ($10::text [] IS NULL OR m.tags @> $10)
AND ($11::text IS NULL OR m.session_id = $11)
AND ($12::text IS NULL OR m.source = $12)
