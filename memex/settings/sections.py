"""What can be set: one struct per section, one field per setting, with its default and its bounds."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from memex.model import MAX_HALF_LIFE_DAYS, MAX_TOP_K, Unit

Port = Annotated[int, Meta(ge=1, le=65_535)]
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0.0, le=86_400.0)]


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


class RankingEngine(StrEnum):
    """What ranks; auto ranks in memory what fits there, and in the database what does not."""

    AUTO = "auto"
    DATABASE = "database"


class Engine(StrEnum):
    """What runs the embedding model; auto takes the native encoder where it is the faster one."""

    AUTO = "auto"
    NATIVE = "native"
    ONNXRUNTIME = "onnxruntime"


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
    """How long SIGTERM waits for requests in work; five more for closing."""


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """Who may connect."""

    mode: AuthMode = AuthMode.LOCAL


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """The external PostgreSQL, or nothing for the embedded one."""

    url: str = ""
    min_pool_size: Natural = 2
    max_pool_size: Positive = 4
    """Connections per worker. More than two per core only deepen the queue."""
    command_timeout: Annotated[float, Meta(ge=0.1, le=86_400.0)] = 10.0
    """Seconds for one statement, and the longest that a request waits for a dead database."""
    pool_timeout: Seconds = 2.0
    """Seconds that a request waits for a free connection before it is refused with 503."""

    def __post_init__(self) -> None:
        """Raises ValueError where the pool could never hold its least."""
        if self.min_pool_size > self.max_pool_size:
            raise ValueError("DB_MIN_POOL_SIZE must not be above DB_MAX_POOL_SIZE")

    def __repr__(self) -> str:
        """Without the password of `url`."""
        return f"Database(url={redacted(self.url)!r}, max_pool_size={self.max_pool_size})"


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The model that turns text into vectors."""

    model: str = "e5-small-v2"
    """A bundled or added name, a directory or jar with a model, or a hub id with its commit."""
    engine: Engine = Engine.AUTO
    """auto, native or onnxruntime; auto is native where the model has weights for it and the processor AVX-512 VNNI."""
    streams: Annotated[int, Meta(ge=0, le=1024)] = 0
    """Encoder threads per worker; 0 shares the machine's cores among the workers."""
    cache_bytes: Natural = 64 * 1024 * 1024
    reuse_stored: bool = False
    """Look a text to remember up in the database first: an equal one of the agent gives its vectors."""
    pass_seconds: Seconds = 0.03
    """Longest forward pass of several texts: what a search may wait behind writes. One long text may take more."""
    search_queue_seconds: Seconds = 0.25
    """Estimated work of searches that may wait; above it a search is refused with 503, since late is no use to it."""
    write_queue_seconds: Seconds = 2.0
    """Estimated work that may wait in all; above it a write is refused with 503."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The formula's defaults, and how it is computed."""

    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] = 10
    alpha: Unit = 0.7
    half_life_days: Annotated[float, Meta(gt=0.0, le=MAX_HALF_LIFE_DAYS)] = 30.0
    importance_weight: Unit = 0.1
    similarity_floor: float | None = None
    """Cosine that counts as 0; the model's own value if not set."""
    similarity_ceiling: float | None = None
    """Cosine that counts as 1; the model's own value if not set."""
    isa: Isa = Isa.AUTO
    engine: RankingEngine = RankingEngine.AUTO
    """`auto`: in memory, and by PostgreSQL what does not fit there; `database`: by PostgreSQL alone, exact and slow."""


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The spaces in memory."""

    memory: Positive = 1024 * 1024 * 1024
    """Bytes for resident spaces and those being loaded, per worker; the least recently used go first."""


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


class Upkeep(msgspec.Struct, frozen=True, kw_only=True):
    """What is cleaned up in the background."""

    interval_seconds: Seconds = 600.0
    """About how often, per worker; of all that share a database one does it at a time."""
    tombstone_hours: Annotated[float, Meta(gt=0.0, le=87_600.0)] = 24.0
    """How long a deletion is kept for indexes in memory; one that was not asked for so long loads its space anew."""


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
    index: Index = Index()
    limits: Limits = Limits()
    summarization: Summarization = Summarization()
    upkeep: Upkeep = Upkeep()
    api: Api = Api()
    log: Log = Log()


# A URL's password goes up to the last @, so that one with unescaped marks is hidden too.
PASSWORDS = re.compile(
    r"(?<=://)(?P<user>[^:/?#@]*):.*@|(?P<name>(?:password|secret|_key)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]*)", re.I
)
HOST = r"(?:\[[^\]@]*\]|[^:/?#@,\[\s]*)(?::[0-9]*)?"
PAIR = r"[a-z_]+\s*=\s*(?:'(?:[^'\\]|\\.)*'|[^\s']+)"
URL = rf"postgres(?:ql)?://(?:[^:/?#@]*(?::\*\*\*)?@)?{HOST}(?:,{HOST})*(?:/[^@?]*)?(?:\?[a-z_]+=[^&]*(?:&[a-z_]+=[^&]*)*)?"
KEYS = rf"(?=.*\b(?:host|hostaddr|port|dbname|user|service)\s*=)\s*{PAIR}(?:\s+{PAIR})*\s*"
CONNECTION_STRING = re.compile(f"{URL}|{KEYS}", re.IGNORECASE)


def redacted(url: str) -> str:
    """A connection string, as a URL or as libpq's `key=value`, without its password, for people and logs.

    Nothing is shown of what is neither: it may be a password.
    """
    shown = without_passwords(url)
    return shown if not url or CONNECTION_STRING.fullmatch(shown) else "***"


def without_passwords(url: str) -> str:
    """The text with marks in place of passwords, as far as they can be told."""
    return PASSWORDS.sub(lambda found: f"{found['name']}***" if found["name"] else f"{found['user']}:***@", url)
