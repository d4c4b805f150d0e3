"""What alembic runs: the migrations, in the transaction of the connection that it was given."""

from alembic import context

from pipeline.scheduler.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
