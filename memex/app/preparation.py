"""The database before a worker starts: it runs, its schema is current, its model is ours."""

import asyncio

from memex.app.databases import database
from memex.embedder import open_embedder
from memex.embedder.models import open_model
from memex.errors import ModelMismatch, SettingsInvalid
from memex.index import Ranker
from memex.metrics import Metrics
from memex.service import similarity
from memex.settings import Isa, Settings
from memex.store import Models, Pool, StoredModel, schema


def prepare(conninfo: str, settings: Settings) -> None:
    """Brings the schema up to date and registers the model. Raises StartupError."""
    card = open_model(settings.embedding.model).card
    similarity(card, settings.ranking)
    instructions(settings.ranking.isa)
    migrate(conninfo)
    stored = asyncio.run(agree(conninfo, settings, StoredModel(card.id, card.revision, card.dimensions)))
    if stored.id != card.id:
        raise ModelMismatch(
            f"The memories in this database were embedded with {stored.id}, not with {card.id}: "
            "set EMBEDDING_MODEL to that model, or use another database or data directory."
        )


def instructions(isa: Isa) -> str:
    """The vector instructions that will rank. Raises SettingsInvalid where this processor lacks them."""
    try:
        return Ranker(1, isa).isa
    except ValueError as error:
        raise SettingsInvalid(f"MEMEX_RANKING_ISA: {error}.") from error


def migrate(conninfo: str) -> None:
    """Brings the schema up to date. Alembic is loaded only where there is something to do."""
    if not schema.current(conninfo):
        from memex.store.migrate import upgrade  # noqa: PLC0415 (half a second that most starts do not need)

        upgrade(conninfo)


async def agree(conninfo: str, settings: Settings, model: StoredModel) -> StoredModel:
    """The database's model; in a database without one it is `model`, but only if that runs.

    Otherwise a model that does not would be the one for ever. Raises ModelDamaged and SettingsInvalid.
    """
    pool = Pool(conninfo, settings.database, Metrics())
    try:
        stored = await Models(pool).stored()
    finally:
        await pool.close()
    if stored is None:
        await open_embedder(settings.embedding, settings.server.workers, Metrics()).close()
        stored = await register(conninfo, settings, model)
    return stored


async def register(conninfo: str, settings: Settings, model: StoredModel) -> StoredModel:
    """Makes `model` the one of a database that has none yet; the database's model."""
    pool = Pool(conninfo, settings.database, Metrics())
    try:
        return await Models(pool).register(model)
    finally:
        await pool.close()


def migrate_only(settings: Settings) -> str:
    """Brings the schema up to date and says what it is now."""
    with database(settings) as conninfo:
        migrate(conninfo)
    return f"The schema is current: revision {schema.REVISION}."
