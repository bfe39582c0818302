-- What a memory says of others, to its own agent $4 alone: those may be private.
CASE WHEN m.agent_id = $4 THEN m.superseded_by::text END,
CASE WHEN m.agent_id = $4 THEN {{original}} END
