"""PostgreSQL: the only truth. The only package that names psycopg, and SQLAlchemy in `migrate` alone."""
