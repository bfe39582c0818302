"""What Alembic runs for every command: the steps, on the connection that `memex.store.migrate` hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], version_table_schema="memex", transaction_per_migration=True
)
context.run_migrations()
