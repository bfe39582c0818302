-- What the database holds now: the compatibility number of its schema, and the model of its vectors.
SELECT max(c.number), (SELECT m.id FROM memex.models AS m WHERE m.is_current) FROM memex.compatibility AS c
