-- Whether the database answers, from its own tables.
SELECT count(*) FROM memex.compatibility
