"""Settings: options before environment before `.env` before `config/memex.toml` before defaults.

A field of a section is `MEMEX_<SECTION>_<FIELD>` in the environment and `[section] field` in the
file. The names of the reference service in `LEGACY` work too, in upper or lower case.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
import platformdirs
from msgspec import Meta

from memex.errors import SettingsInvalid
from memex.model import MAX_HALF_LIFE_DAYS, MAX_TOP_K, Unit

Port = Annotated[int, Meta(ge=0, le=65_535)]
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0.0)]

# Kubernetes injects these for a service named memex; they are not ours.
FOREIGN_PREFIXES = ("MEMEX_SERVICE_", "MEMEX_PORT")
HOME = "MEMEX_HOME"


class AuthMode(StrEnum):
    """Who may connect. Until there are keys, whoever reaches the port is trusted."""

    LOCAL = "local"
    OFF = "off"


class LogLevel(StrEnum):
    """The least severe line that is printed."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line looks."""

    TEXT = "text"
    JSON = "json"


class UnknownFields(StrEnum):
    """What happens to request fields that memex does not know."""

    REFUSE = "refuse"
    IGNORE = "ignore"


class Isa(StrEnum):
    """Which vector instructions rank; auto takes the best that the processor has."""

    AUTO = "auto"
    SCALAR = "scalar"
    AVX2 = "avx2"
    AVX512 = "avx512"


class App(msgspec.Struct, frozen=True, kw_only=True):
    """What the service calls itself."""

    name: str = "memex"
    debug: bool = False
    """Log at level debug. Clients never see more for it."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how requests are taken."""

    host: str = "127.0.0.1"
    port: Port = 8000
    workers: Positive = 1
    thread_pool_size: Positive = 4
    """Threads that rank spaces too large for the event loop."""
    allowed_hosts: tuple[str, ...] = ()
    """Host and Origin names taken beside the loopback names, comma-separated; `*` takes all."""
    max_in_flight: Positive = 256
    """Requests in work per worker; one more is refused with 503 at once."""
    max_body_bytes: Positive = 2 * 1024 * 1024
    drain_seconds: Seconds = 10.0
    """How long SIGTERM waits for requests in work."""


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """Who may connect."""

    mode: AuthMode = AuthMode.LOCAL


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """The external PostgreSQL, or nothing for the embedded one."""

    url: str = ""
    min_pool_size: Natural = 2
    max_pool_size: Positive = 4
    """Connections per worker. More than two per core only deepen the queue."""
    command_timeout: Seconds = 10.0
    """Seconds for one statement, and the longest that a request waits for a dead database."""
    pool_timeout: Seconds = 2.0
    """Seconds that a request waits for a free connection before it is refused with 503."""

    def __repr__(self) -> str:
        """Without the password of `url`."""
        return f"Database(url={redacted(self.url)!r}, max_pool_size={self.max_pool_size})"


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The model that turns text into vectors."""

    model: str = "e5-small-v2"
    """A bundled name or a directory made by `memex model build`."""
    streams: Natural = 0
    """Encoder threads per worker; 0 shares the machine's cores among the workers."""
    cache_bytes: Natural = 64 * 1024 * 1024
    batch_tokens: Positive = 512
    """Most tokens of one forward pass, padding included."""
    queue_seconds: Seconds = 2.0
    """Estimated work that may wait; above it requests are refused with 503."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The formula's defaults and the resident index."""

    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] = 10
    alpha: Unit = 0.7
    half_life_days: Annotated[float, Meta(gt=0.0, le=MAX_HALF_LIFE_DAYS)] = 30.0
    importance_weight: Unit = 0.1
    similarity_floor: float | None = None
    """Cosine that counts as 0; the model's own value if not set."""
    similarity_ceiling: float | None = None
    """Cosine that counts as 1; the model's own value if not set."""
    resident_bytes: Positive = 1024 * 1024 * 1024
    """Memory for resident spaces, per worker; the least recently used go first."""
    isa: Isa = Isa.AUTO


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Requests per agent and UTC minute; 0 is off."""

    writes_per_minute: Natural = 60
    searches_per_minute: Natural = 120


class Summarization(msgspec.Struct, frozen=True, kw_only=True):
    """Accepted for the reference's clients; inactive in this version."""

    enabled: bool = True
    threshold: Positive = 100
    batch_size: Positive = 50
    interval_seconds: Positive = 300


class Api(msgspec.Struct, frozen=True, kw_only=True):
    """How strictly requests are read."""

    unknown_fields: UnknownFields = UnknownFields.REFUSE


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """How the log looks."""

    level: LogLevel = LogLevel.INFO
    format: LogFormat = LogFormat.TEXT


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings. `home` holds config/, data/ and logs/."""

    home: Path
    app: App = App()
    server: Server = Server()
    auth: Auth = Auth()
    database: Database = Database()
    embedding: Embedding = Embedding()
    ranking: Ranking = Ranking()
    limits: Limits = Limits()
    summarization: Summarization = Summarization()
    api: Api = Api()
    log: Log = Log()


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

Values = dict[str, dict[str, Any]]


def names() -> dict[str, tuple[str, str]]:
    """Every `MEMEX_<SECTION>_<FIELD>` → its section and field."""
    return {
        f"MEMEX_{section}_{field.name}".upper(): (section, field.name)
        for section, kind in SECTIONS.items()
        for field in msgspec.structs.fields(kind)
    }


def load(environment: Mapping[str, str], options: Values, home: Path) -> Settings:
    """All sources merged. `environment` already holds what `.env` adds; `options` come from the command line.

    Raises SettingsInvalid naming the setting.
    """
    file = home / "config" / "memex.toml"
    merged: Values = {section: {} for section in SECTIONS}
    for values in (from_file(file), from_environment(environment), options):
        for section, fields in values.items():
            merged[section].update(fields)
    return convert(merged, home)


def home_of(environment: Mapping[str, str]) -> Path:
    """`MEMEX_HOME`, or the platform's folder for a user's data."""
    named = environment.get(HOME)
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("memex"))


def from_environment(environment: Mapping[str, str]) -> Values:
    """Our names and the reference's. An unknown `MEMEX_` name is refused, so that a typo cannot pass unseen."""
    ours, values = names(), Values()
    for raw, value in environment.items():
        name = raw.upper()
        place = ours.get(name) or LEGACY.get(name)
        if place and not (name in LEGACY and place in named_by_us(environment, ours)):
            values.setdefault(place[0], {})[place[1]] = value
        elif place is None and name.startswith("MEMEX_") and name != HOME and not name.startswith(FOREIGN_PREFIXES):
            raise SettingsInvalid(f"{raw} is not a setting of memex: `memex check` lists them.")
    return values


def named_by_us(environment: Mapping[str, str], ours: Mapping[str, tuple[str, str]]) -> set[tuple[str, str]]:
    """The places that a `MEMEX_` name sets: it wins over the reference's name for the same thing."""
    return {ours[raw.upper()] for raw in environment if raw.upper() in ours}


def from_file(file: Path) -> Values:
    """`config/memex.toml` if there is one."""
    if not file.is_file():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(f"config/memex.toml cannot be read: {error}") from error
    for section, fields in values.items():
        if section not in SECTIONS or not isinstance(fields, dict):
            raise SettingsInvalid(f"config/memex.toml: [{section}] is not a section of memex.")
        known = {f.name for f in msgspec.structs.fields(SECTIONS[section])}
        if unknown := sorted(set(fields) - known):
            raise SettingsInvalid(f"config/memex.toml: [{section}] has no {unknown[0]}.")
    return values


def convert(values: Values, home: Path) -> Settings:
    """Text to typed settings; the first bad value is named the way it was given."""
    sections = {}
    for section, kind in SECTIONS.items():
        fields = dict(values[section])
        if isinstance(fields.get("allowed_hosts"), str):
            fields["allowed_hosts"] = [h.strip() for h in fields["allowed_hosts"].split(",") if h.strip()]
        try:
            sections[section] = msgspec.convert(fields, kind, strict=False)
        except msgspec.ValidationError as error:
            raise SettingsInvalid(complaint(section, str(error))) from error
    return Settings(home=home, **sections)


def complaint(section: str, error: str) -> str:
    """`Expected int >= 1 - at $.workers` → the setting's name and what it expects."""
    what, _, where = error.partition(" - at `$.")
    field = where.rstrip("`").split("[")[0]
    legacy = [name for name, place in LEGACY.items() if place == (section, field)]
    named = " or ".join([f"MEMEX_{section}_{field}".upper(), *legacy])
    return f"{named}: {what[:1].lower()}{what[1:]}."


def redacted(url: str) -> str:
    """A connection string without its password, for people and logs."""
    parts = urlsplit(url)
    if not parts.password:
        return url
    return parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")).geturl()
