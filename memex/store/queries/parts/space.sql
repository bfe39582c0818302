-- The one space of this key: not one of another tenant or user whose key is the same by chance.
s.space_key = $1 AND s.tenant_id = $2 AND s.user_id = $3
