-- What has not expired by the database's clock.
(m.expires_at IS NULL OR m.expires_at > now())
