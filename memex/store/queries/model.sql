-- The model that the stored vectors are of.
SELECT c.id, c.revision, c.dimensions FROM memex.models AS c WHERE c.is_current
