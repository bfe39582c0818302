"""Where memex cannot start it says in one line what to do, and its exit code is not 0."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from memex.embedder.models.card import decode, encode, revision
from memex.embedder.models.directory import CARD, PACKAGED
from memex.store.embedded import account as accounts
from memex.store.embedded import binaries
from memex.store.embedded.layout import Layout
from tests.fixtures.db import Databases
from tests.fixtures.process import Process, is_up, run
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]


def refusal(process: Process) -> str:
    """The one line of a start that failed."""
    assert process.popen.wait(PATIENCE) == 1
    lines = [line for line in process.output().splitlines() if not re.match(r"\d{4}-\d\d-\d\dT.* INFO ", line)]
    assert len(lines) == 1, lines
    assert lines[0].startswith("memex: ")
    return lines[0]


def test_the_port_is_taken(serve: Serve):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refusal(serve("--port", str(port)))
    assert str(port) in line
    assert "--port" in line


def test_of_two_started_at_once_on_one_port_one_serves(serve: Serve, home: Path):
    first = serve()
    second = serve("--port", str(first.port), at=home.parent / "another")
    until(lambda: any(process.popen.poll() is not None for process in (first, second)))
    loser, winner = (first, second) if first.popen.poll() is not None else (second, first)
    assert "--port" in refusal(loser)
    until(lambda: is_up(f"{first.url}/readyz"))
    assert winner.stop() == 0


def test_a_name_of_this_machine_is_served(serve: Serve):
    service = serve("--host", "localhost")
    until(lambda: service.popen.poll() is not None or is_up(f"http://localhost:{service.port}/readyz"))
    assert service.stop() == 0


def test_a_stray_directory_for_metrics_is_nobody_s_business(serve: Serve, home: Path):
    stray = home.parent / "stray"
    stray.mkdir()
    service = serve(PROMETHEUS_MULTIPROC_DIR=str(stray)).ready()
    with service.client() as client:
        assert "http_requests_total" in client.get("/metrics").text
    assert service.stop() == 0
    assert list(stray.iterdir()) == []


def test_check_says_what_holds_the_port(serve: Serve, home: Path):
    def look(port: int) -> tuple[int, str]:
        arguments = ("check", "--data-dir", str(home), "--set", f"server.port={port}")
        process = run(*arguments, http_proxy="http://127.0.0.1:1")
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output.splitlines()[0]

    def greet(stranger: socket.socket) -> None:
        with stranger.accept()[0] as caller:
            caller.sendall(b"SSH-2.0-stranger\r\n")

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        greeting = threading.Thread(target=greet, args=(stranger,))
        greeting.start()
        code, line = look(stranger.getsockname()[1])
        greeting.join(PATIENCE)
    assert (code, line.split()[0]) == (1, "FAULT")
    service = serve().ready()
    code, line = look(service.port)
    assert (code, line.split()[0]) == (0, "ok")
    assert "where memex" in line
    assert service.stop() == 0


def test_the_data_directory_is_not_writable(serve: Serve, home: Path):
    sealed = Path("/proc/memex") if os.geteuid() == 0 else home.parent / "sealed" / "home"
    if os.geteuid() != 0:
        sealed.parent.mkdir(mode=0o500)
    line = refusal(serve(at=sealed))
    assert "The data directory" in line


def test_the_data_directory_is_a_file(serve: Serve, home: Path):
    home.write_text("not a folder")
    assert "--data-dir" in refusal(serve())


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("postgresql://ana:swordfish@127.0.0.1:1/memex", "127.0.0.1"),
        ("postgresql://ana:swordfish@nowhere.invalid/memex", "nowhere.invalid"),
        ("postgres//broken", "DATABASE_URL"),
        ("postgresql://ana:sword@swordfish@127.0.0.1:1/memex", "%40"),
    ],
)
def test_the_database_cannot_be_reached(serve: Serve, url: str, hint: str):
    line = refusal(serve(DATABASE_URL=url))
    assert hint in line
    assert "swordfish" not in line


def test_the_database_may_only_be_read(serve: Serve, databases: Databases, database: str):
    name = sql.Identifier(str(conninfo_to_dict(database)["dbname"]))
    databases.execute("ALTER DATABASE {} SET default_transaction_read_only = on", name)
    assert "read-only" in refusal(serve(DATABASE_URL=database))


def test_the_database_stores_no_utf8(serve: Serve, databases: Databases, database: str):
    name = f"{conninfo_to_dict(database)['dbname']}_ascii"
    databases.execute(
        "CREATE DATABASE {} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'SQL_ASCII'",
        sql.Identifier(name),
    )
    try:
        line = refusal(serve(DATABASE_URL=databases.conninfo(name), PGCLIENTENCODING="SQL_ASCII"))
    finally:
        databases.drop(name)
    assert "ENCODING 'UTF8'" in line


def test_the_role_may_not_use_the_tables(serve: Serve, database: str):
    with psycopg.connect(database) as connection:
        connection.execute("REVOKE ALL ON memex.compatibility FROM CURRENT_USER")
    assert "GRANT" in refusal(serve(DATABASE_URL=database))


def test_check_shows_nothing_of_what_is_no_connection_string(home: Path):
    process = run("check", "--data-dir", str(home), DATABASE_URL="swordfish")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "MEMEX_DATABASE_URL=***" in output
    assert "swordfish" not in output


def test_the_database_of_a_url_does_not_exist(serve: Serve, database: str):
    line = refusal(serve(DATABASE_URL=database.replace("dbname=", "dbname=no_such_")))
    assert "no_such_" in line


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_open_address_needs_to_be_asked_for(serve: Serve, host: str):
    assert "MEMEX_AUTH_MODE=off" in refusal(serve("--host", host))


def test_a_host_that_there_is_not(serve: Serve):
    assert "There is no host" in refusal(serve("--host", "memex.invalid"))


def said(*arguments: str, **environment: str) -> str:
    """What a command prints that fails."""
    command = run(*arguments, **environment)
    output: str = command.communicate(timeout=PATIENCE)[0]
    assert command.returncode == 1
    return output


def test_a_fault_of_two_parts_is_told_once(home: Path):
    output = said("check", "--data-dir", str(home), DATABASE_URL="nonsense")
    assert output.count("is not a connection string") == 1
    assert "the same as of database" in output


def test_a_model_that_is_nowhere_is_told_in_one_line(home: Path):
    output = said("model", "add", "/nonexist", "--data-dir", str(home))
    assert output.startswith("memex: There is no model '/nonexist'")
    assert output.count("\n") == 1


@pytest.fixture
def without_pgvector(home: Path) -> Iterator[str]:
    """The connection string of a PostgreSQL of its own, from a copy of the packaged one that lacks the extension."""
    account, folder = accounts.current(), home.parent / "bare"
    installed = binaries.installed()
    root = binaries.copy(installed, binaries.version_of(installed), Layout(folder))
    (root / "share/postgresql/extension/vector.control").unlink()
    data = folder / "data"
    data.mkdir()
    shutil.chown(data, account.uid, account.gid)

    def program(name: str, *arguments: str) -> list[str]:
        return [str(root / "bin" / name), *arguments]

    initdb = program("initdb", "-D", str(data), "-U", "memex", "-A", "peer", "--no-sync")
    subprocess.run(initdb, check=True, capture_output=True, **account.as_process())
    (data / "pg_hba.conf").write_text("local all all peer map=who\n")
    (data / "pg_ident.conf").write_text(f"who {accounts.users(account)[-1]} memex\nwho {account.name} memex\n")
    command = program("postgres", "-D", str(data), "-k", str(data), "-c", "listen_addresses=")
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL, **account.as_process())
    url = f"host={data} user=memex dbname=postgres"
    until(lambda: accepts(url))
    yield url
    server.send_signal(signal.SIGINT)
    server.wait(PATIENCE)


def accepts(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_the_database_has_no_pgvector(serve: Serve, without_pgvector: str):
    line = refusal(serve(DATABASE_URL=without_pgvector))
    assert "install pgvector 0.8 or newer" in line


def test_the_model_is_missing(serve: Serve):
    assert "no-such-model" in refusal(serve(EMBEDDING_MODEL="no-such-model"))


def test_the_model_is_damaged(serve: Serve, home: Path):
    model = home.parent / "model"
    shutil.copytree(PACKAGED / "e5-small-v2", model)
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[len(weights) // 2] ^= 1
    (model / "model.safetensors").write_bytes(weights)
    assert "model.safetensors" in refusal(serve(EMBEDDING_MODEL=str(model)))


def test_a_model_that_cannot_run_does_not_become_that_of_a_new_database(serve: Serve, home: Path):
    model = home.parent / "model"
    shutil.copytree(PACKAGED / "e5-small-v2", model)
    (model / "model.safetensors").write_bytes(b"no weights")
    card = decode((model / CARD).read_bytes())
    files = card.files | {"model.safetensors": hashlib.sha256(b"no weights").hexdigest()}
    (model / CARD).write_bytes(encode(replace(card, files=files, revision=revision(files))))
    assert "model.safetensors" in refusal(serve(EMBEDDING_MODEL=str(model)))
    serve().ready()


def test_the_data_were_made_with_another_model(serve: Serve, database: str):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO memex.models (id, revision, dimensions, is_current) VALUES ('other@1', '1', 384, true)"
        )
    line = refusal(serve(DATABASE_URL=database))
    assert "other@1" in line
    assert "EMBEDDING_MODEL" in line


def test_the_schema_is_newer(serve: Serve, database: str):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.compatibility SET number = 99")
    assert "upgrade" in refusal(serve(DATABASE_URL=database))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMEX_SERVER_PROT", "80"),
        ("MEMEX_SERVER_WORKERS", "two"),
        ("DEFAULT_ALPHA", "1.5"),
        ("MEMEX_LOG_LEVEL", "loud"),
    ],
)
def test_a_setting_is_not_valid(serve: Serve, name: str, value: str):
    assert name in refusal(serve(**{name: value}))


def test_the_configuration_file_is_not_valid(serve: Serve, home: Path):
    (home / "config").mkdir(parents=True)
    (home / "config" / "memex.toml").write_text("[ranking]\nalhpa = 1\n")
    assert "alhpa" in refusal(serve())


def test_check_names_every_fault_and_says_so_in_its_exit_code(home: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = run("check", "--data-dir", str(home), "--set", f"server.port={port}", EMBEDDING_MODEL="nothing")
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert len(re.findall(r"^FAULT ", output, re.MULTILINE)) == 2
    assert "SUMMARIZATION_ENABLED is inactive" in output
    assert f"MEMEX_HOME={home}" in output
    assert f"MEMEX_SERVER_PORT={port}" in output


def looked_at(folder: Path, size: str) -> str:
    """What `check` says of the data directory `folder` on a disk of `size`, which is mounted for it alone."""
    folder.mkdir()
    mounted = 'mount -t tmpfs -o "size=$1" none "$2" && shift 2 && exec "$@"'
    memex = (sys.executable, "-m", "memex", "check", "--data-dir", str(folder))
    command = ("unshare", "--mount", "sh", "-c", mounted, "sh", size, str(folder), *memex)
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    if "mount:" in said.stderr or "unshare:" in said.stderr:
        pytest.skip("this system lets nobody mount")
    return next(line for line in said.stdout.splitlines() if " data directory " in line)


def test_check_says_that_the_disk_is_full(home: Path):
    assert re.match(r"FAULT .* is full, 4 MiB are left: free some space\.$", looked_at(home, "4m"))
    assert re.match(r"ok .*, 1\.0 GiB free$", looked_at(home.parent / "roomy", "1g"))


def test_version_says_how_the_native_module_was_built():
    process = run("version")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "release" in output
