-- Who may see which memory: of the agents that the scope may read ($4), live by the database's clock.
m.agent_id = any($4) AND m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > now())
