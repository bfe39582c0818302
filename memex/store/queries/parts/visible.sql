-- Who may see which memory: the agent $4 its own, and of the agents $5 (null is all) what they share.
(m.agent_id = $4 OR (m.visibility = 'shared' AND ($5::text [] IS NULL OR m.agent_id = any($5))))
