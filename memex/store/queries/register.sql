-- Makes a model the current one if there is none: of two at once, one waits and changes nothing.
INSERT INTO memex.models (id, revision, dimensions, is_current) VALUES ($1, $2, $3, true) ON CONFLICT DO NOTHING
