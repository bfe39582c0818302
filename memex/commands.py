"""The commands: serve, mcp, migrate, backup, restore, check, version and model."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from memex import __version__
from memex.app import environment
from memex.errors import MemexError, SettingsInvalid
from memex.logs import configure
from memex.settings import SECTIONS, Settings, Values

MCP_PORT = 8001


class Commands(click.Group):
    """Turns an error of ours into one line and an exit code, never a trace."""

    def invoke(self, context: click.Context) -> Any:
        """Runs the command; exit code 1 where memex cannot do it."""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # click makes it one word, after what has to be undone
        try:
            return super().invoke(context)
        except MemexError as error:
            click.echo(f"memex: {error.message}", err=True)
            sys.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="memex %(version)s")
def main() -> None:
    """The long-term memory of AI agents.

    Settings come from options, then the environment, then .env, then config/memex.toml in the data
    directory. `memex check` lists them all.
    """


class Folder(click.Path):
    """A folder with a name: an empty one, as of a variable that is not set, would be the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if value == "":
            self.fail("the name is empty: name a folder.", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = Folder(path_type=Path)


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every command with settings takes."""
    for option in (
        click.option("--data-dir", type=FOLDER, help="Holds config/, data/ and logs/."),
        click.option("--database-url", help="An external PostgreSQL instead of the embedded one."),
        click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="[default: info]"),
        click.option("--log-format", type=click.Choice(["text", "json"]), help="[default: text]"),
        click.option("--set", "assignments", multiple=True, metavar="SECTION.FIELD=VALUE", help="Any setting."),
    ):
        command = option(command)
    return command


@main.command()
@click.option("--host", help="Address to listen on. [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on. [default: 8000]")
@click.option("--workers", type=int, help="Worker processes. [default: 1]")
@configured
def serve(host: str | None, port: int | None, workers: int | None, **common: Any) -> None:
    """Serve memories over REST, and tools for agents at /mcp, until SIGTERM or Ctrl-C."""
    options = chosen(common, {"host": host, "port": port, "workers": workers})
    settings = start(options, common["data_dir"])
    from memex.app.server import serve as run  # noqa: PLC0415 (commands that only print stay quick)

    run(settings, options)


@main.command()
@click.option("--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True)
@click.option("--host", help="Address to listen on, with http. [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on, with http. [default: 8001]")
@click.option("--workers", type=int, help="Worker processes, with http. [default: 1]")
@configured
def mcp(transport: str, host: str | None, port: int | None, workers: int | None, **common: Any) -> None:
    """Serve the tools for agents by the Model Context Protocol.

    Over stdio it serves the one client that starts it, until that closes stdin; logs go to stderr. Over http it
    listens at http://127.0.0.1:8001/mcp/. Either works beside a running `memex serve`, which has the same tools
    at /mcp of its own port, and without one: processes of one data directory share its PostgreSQL.

    \b
    Claude Code:  claude mcp add --scope user memex -- memex mcp
    Codex:        codex mcp add memex -- memex mcp
    Cursor:       {"mcpServers": {"memex": {"command": "memex", "args": ["mcp"]}}} in ~/.cursor/mcp.json
    """  # noqa: D301  the sign by which click keeps lines apart
    if transport == "stdio" and (host, port, workers) != (None, None, None):
        raise click.UsageError("--host, --port and --workers are for --transport http.")
    options = chosen(common, {"host": host, "port": MCP_PORT if port is None else port, "workers": workers})
    settings = start(options, common["data_dir"])
    if transport == "stdio":
        from memex.app.stdio import serve as converse  # noqa: PLC0415

        converse(settings)
    else:
        from memex.app.server import TOOLS  # noqa: PLC0415
        from memex.app.server import serve as run  # noqa: PLC0415

        run(settings, options, TOOLS)


@main.command()
@configured
def migrate(**common: Any) -> None:
    """Bring the database's schema up to date, then stop."""
    settings = start(chosen(common), common["data_dir"])
    from memex.app.preparation import migrate_only  # noqa: PLC0415

    click.echo(migrate_only(settings))


@main.command()
@click.argument("target", type=FOLDER)
@configured
def backup(target: Path, **common: Any) -> None:
    """Back the embedded database up into the new folder TARGET.

    It can be done while memex runs on the data directory, or while none does, and holds all that was acknowledged
    before it began. TARGET is there only once the backup is whole; nobody else can read it. Settings and added models
    (config/ and models/ of the data directory) are not in it.

    \b
    Every night:  memex backup /backups/memex-$(date +%F)
    """  # noqa: D301
    settings = start(chosen(common), common["data_dir"])
    from memex.app.backups import back_up  # noqa: PLC0415

    click.echo(back_up(settings, target))


@main.command()
@click.argument("source", type=FOLDER)
@configured
def restore(source: Path, **common: Any) -> None:
    """Put the backup SOURCE into a data directory without a database.

    Every file that belongs to it is compared with its checksum first, and the database is there only once it is whole.
    It takes a memex with the PostgreSQL major version that made the backup. To go back, stop memex and move
    data/postgres of the data directory away.
    """
    settings = start(chosen(common), common["data_dir"])
    from memex.app.backups import put_back  # noqa: PLC0415

    click.echo(put_back(settings, source))


@main.command()
@configured
def check(**common: Any) -> None:
    """Say what memex would run with, and what is wrong with it."""
    settings = start(chosen(common), common["data_dir"])
    from memex.app.checks import report  # noqa: PLC0415

    sys.exit(report(settings))


@main.command()
def version() -> None:
    """Print the version and how the native module was built."""
    from memex.app.checks import build  # noqa: PLC0415

    click.echo(f"memex {__version__} ({build()})")


@main.group()
def model() -> None:
    """Embedding models: which there are, and how one is added, checked or made."""


def described(command: Callable[..., None]) -> Callable[..., None]:
    """What can be said of a model where its own files do not say it, or say it wrong."""
    for option in (
        click.option("--name", help="What to call it. [default: as its source does]"),
        click.option("--graph", metavar="FILE", help="The .onnx file to take where the source has several."),
        click.option("--pooling", type=click.Choice(["mean", "cls"]), help="How token vectors become one."),
        click.option("--query-prefix", help="What stands in front of a question."),
        click.option("--passage-prefix", help="What stands in front of a memory."),
        click.option("--floor", type=float, help="Cosine that counts as relevance 0. [default: measured]"),
        click.option("--ceiling", type=float, help="Cosine that counts as relevance 1. [default: measured]"),
    ):
        command = option(command)
    return command


@model.command("list")
@configured
def list_models(**common: Any) -> None:
    """Print the models that EMBEDDING_MODEL can name, a star at the one in force."""
    settings = start(chosen(common), common["data_dir"])
    from memex.app.models import listed  # noqa: PLC0415

    click.echo(listed(settings))


@model.command("add")
@click.argument("source")
@click.option("--into", type=FOLDER, help="Make this directory instead of one in the data directory.")
@described
@configured
def add_model(source: str, into: Path | None, **options: Any) -> None:
    """Make a model directory of SOURCE, which EMBEDDING_MODEL then names.

    SOURCE is a hub id at a commit (org/name@<40 hex digits>), a folder, or a jar or zip, with an .onnx file and its
    tokenizer.json. Pooling, prefixes and window come from its own configuration files or its family; floor and ceiling
    are measured. A directory made with --into can be copied to a machine without a connection.
    """
    settings = start(chosen(options), options["data_dir"])
    from memex.app.models import add  # noqa: PLC0415

    click.echo(add(settings, source, choice(options), into))


@model.command("check")
@click.argument("name", required=False)
@click.option("--against", type=click.Path(exists=True, path_type=Path), help="Its fp32 source, a folder or a jar.")
@configured
def check_model(name: str | None, against: Path | None, **common: Any) -> None:
    """Check every file of a model, run it, and say what is wrong; NAME defaults to the one in force."""
    settings = start(chosen(common), common["data_dir"])
    from memex.app.models import check as check_one  # noqa: PLC0415

    sys.exit(check_one(settings, name, against))


@model.command("build")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.argument("target", type=FOLDER)
@click.option("--recipe", help="A known name, or a JSON file with its fields. [default: from the source]")
@described
def build_model(source: Path, target: Path, recipe: str | None, **options: Any) -> None:
    """Make the model directory TARGET from the public fp32 ONNX file and tokenizer in SOURCE, a folder or a jar.

    Weights are rounded to 8 bits against packaged calibration sentences; both engines run the result. Prints how near
    it is to fp32. Takes one to three minutes.
    """
    environment.single_threaded()
    from memex.app.models import build  # noqa: PLC0415 (loads NumPy, which must see the line above)

    click.echo(build(source, target, recipe, choice(options)))


def choice(options: dict[str, Any]) -> Any:
    """The options of `described`."""
    from memex.embedder.models.shelf import Choice  # noqa: PLC0415

    return Choice(**{field: options[field] for field in Choice.__struct_fields__})


def start(options: Values, home: Path | None) -> Settings:
    """The settings, with the log set up by them."""
    settings = environment.read(options, home)
    configure("debug" if settings.app.debug else settings.log.level, settings.log.format)
    return settings


def chosen(common: dict[str, Any], server: dict[str, Any] | None = None) -> Values:
    """The options that were given, by section; `--set` first, so that a named option wins."""
    values = Values()
    for assignment in common["assignments"]:
        section, field, value = parsed(assignment)
        values.setdefault(section, {})[field] = value
    named = {
        "server": server or {},
        "database": {"url": common["database_url"]},
        "log": {"level": common["log_level"], "format": common["log_format"]},
    }
    for section, fields in named.items():
        values.setdefault(section, {}).update({name: value for name, value in fields.items() if value is not None})
    return values


def parsed(assignment: str) -> tuple[str, str, str]:
    """`ranking.alpha=0.5` in its parts."""
    place, equals, value = assignment.partition("=")
    section, dot, field = place.strip().lower().partition(".")
    if not (equals and dot and section in SECTIONS and field in SECTIONS[section].__struct_fields__):
        raise SettingsInvalid(f"--set {assignment}: write SECTION.FIELD=VALUE with a setting that `memex check` lists.")
    return section, field, value.strip()
