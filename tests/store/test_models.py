"""The one current model."""

import asyncio

from memex.metrics import Metrics
from memex.settings import Database
from memex.store.models import Models, StoredModel
from memex.store.pool import Pool


async def test_a_new_database_has_no_model_and_the_first_one_stays(database: str, settings: Database):
    pool = Pool(database, settings, Metrics())
    await pool.open()
    models = Models(pool)
    assert await models.stored() is None
    first = StoredModel("e5", "r1", 384)
    assert await models.register(first) == first
    assert await models.register(StoredModel("e5", "r2", 384)) == first
    assert await models.register(StoredModel("bge", "r1", 768)) == first
    assert await models.stored() == first
    await pool.close()


async def test_of_many_first_registrations_one_wins(database: str):
    pools = [Pool(database, Database(min_pool_size=2, max_pool_size=2), Metrics()) for _ in range(2)]
    for pool in pools:
        await pool.open()
    offers = [StoredModel(f"model {n}", "r", n + 1) for n in range(12)]
    outcomes = await asyncio.gather(*[Models(pools[n % 2]).register(offer) for n, offer in enumerate(offers)])
    assert len(set(outcomes)) == 1
    assert outcomes[0] in offers
    for pool in pools:
        await pool.close()
