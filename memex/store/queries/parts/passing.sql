-- What the filters let through; null is no condition.
($22::text [] IS NULL OR m.memory_type = any($22))
AND ($23::timestamptz IS NULL OR m.created_at >= $23)
AND ($24::timestamptz IS NULL OR m.created_at < $24)
AND ($25::text [] IS NULL OR m.tags && $25)
AND ($26::text [] IS NULL OR m.tags @> $26)
AND ($27::text IS NULL OR m.session_id = $27)
AND ($28::text IS NULL OR m.source = $28)
AND ($29::jsonpath IS NULL OR jsonb_path_match(m.metadata, $29, $30::jsonb, true))
