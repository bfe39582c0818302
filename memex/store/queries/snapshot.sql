-- Begins a transaction that sees one moment, from its first statement on.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
