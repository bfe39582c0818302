-- Sets up a connection for looking at the database and for migrations, whose steps bound themselves.
SELECT
    {{neutral}},
    set_config('statement_timeout', '0', false),
    set_config('idle_in_transaction_session_timeout', '0', false)
