-- What a resident index is checked against, and the database's clock.
s.epoch, s.version, s.floor_version, coalesce((SELECT c.id FROM memex.models AS c WHERE c.is_current), ''), now()
