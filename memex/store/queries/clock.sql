-- The time of the database.
SELECT now()
