"""What settings are called in the environment."""

import msgspec

from memex.settings.sections import Settings

HOME = "MEMEX_HOME"
# Kubernetes injects these for a service named memex; they are not ours.
FOREIGN_PREFIXES = ("MEMEX_SERVICE_", "MEMEX_PORT")

SECTIONS = {f.name: f.type for f in msgspec.structs.fields(Settings) if f.name != "home"}

# Names of the reference service → section and field here.
LEGACY = {
    "DATABASE_URL": ("database", "url"),
    "DB_MIN_POOL_SIZE": ("database", "min_pool_size"),
    "DB_MAX_POOL_SIZE": ("database", "max_pool_size"),
    "DB_COMMAND_TIMEOUT": ("database", "command_timeout"),
    "EMBEDDING_MODEL": ("embedding", "model"),
    "DEFAULT_TOP_K": ("ranking", "top_k"),
    "DEFAULT_ALPHA": ("ranking", "alpha"),
    "RECENCY_DECAY_DAYS": ("ranking", "half_life_days"),
    "RATE_LIMIT_WRITES_PER_MINUTE": ("limits", "writes_per_minute"),
    "RATE_LIMIT_SEARCHES_PER_MINUTE": ("limits", "searches_per_minute"),
    "SUMMARIZATION_ENABLED": ("summarization", "enabled"),
    "SUMMARIZATION_THRESHOLD": ("summarization", "threshold"),
    "SUMMARIZATION_BATCH_SIZE": ("summarization", "batch_size"),
    "SUMMARIZATION_INTERVAL_SECONDS": ("summarization", "interval_seconds"),
    "WORKER_THREAD_POOL_SIZE": ("server", "thread_pool_size"),
    "APP_NAME": ("app", "name"),
    "DEBUG": ("app", "debug"),
    "WORKERS": ("server", "workers"),
}
INACTIVE = frozenset(name for name, (section, _) in LEGACY.items() if section == "summarization")


def names() -> dict[str, tuple[str, str]]:
    """Every `MEMEX_<SECTION>_<FIELD>` → its section and field."""
    return {
        f"MEMEX_{section}_{field.name}".upper(): (section, field.name)
        for section, kind in SECTIONS.items()
        for field in msgspec.structs.fields(kind)
    }
