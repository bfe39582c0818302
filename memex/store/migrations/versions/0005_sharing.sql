-- What is shared in a space. With it a scope is two short lists, an agent's own memories and the shared ones, and a
-- small agent in a large space does not cost the whole space. Before this step nothing could be shared.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

-- One step is one transaction, and an index that holds next to nothing takes one quick reading of the table.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX memories_shared ON memex.memories (space_key, agent_id) WHERE visibility = 'shared';
