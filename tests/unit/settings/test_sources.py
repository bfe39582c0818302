"""Where settings come from, which source wins, and what a wrong one is told."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from memex.errors import SettingsInvalid
from memex.settings import LEGACY, SECTIONS, LogLevel, Settings, Values, home_of, load, names, redacted


def loaded(environment: dict[str, str] | None = None, options: Values | None = None, home: Path | None = None) -> Any:
    return load(environment or {}, options or {}, home or Path("nowhere"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path


def write(home: Path, text: str) -> None:
    (home / "config" / "memex.toml").write_text(text, encoding="utf-8")


def test_the_defaults_are_those_of_the_reference_and_the_limits_are_on():
    settings = loaded()
    assert (settings.limits.writes_per_minute, settings.limits.searches_per_minute) == (60, 120)
    assert (settings.ranking.top_k, settings.ranking.alpha, settings.ranking.half_life_days) == (10, 0.7, 30.0)
    assert (settings.server.host, settings.server.port, settings.database.command_timeout) == ("127.0.0.1", 8000, 10.0)


def test_options_come_before_the_environment_and_that_before_the_file(home: Path):
    write(home, "[ranking]\nalpha = 0.1\ntop_k = 11\nhalf_life_days = 1\n[app]\nname = 'file'\n")
    environment = {"MEMEX_RANKING_ALPHA": "0.2", "MEMEX_RANKING_TOP_K": "12"}
    settings = loaded(environment, {"ranking": {"alpha": "0.3"}}, home)
    ranking = settings.ranking
    assert (ranking.alpha, ranking.top_k, ranking.half_life_days, settings.app.name) == (0.3, 12, 1.0, "file")


@pytest.mark.parametrize("name", ["MEMEX_SERVER_PORT", "memex_server_port", "Memex_Server_Port"])
def test_names_are_taken_in_any_case(name: str):
    assert loaded({name: "9000"}).server.port == 9000


VALUES = {
    "DATABASE_URL": ("postgresql://127.0.0.1/x", "postgresql://127.0.0.1/x"),
    "EMBEDDING_MODEL": ("another", "another"),
    "APP_NAME": ("my memory", "my memory"),
    "DEBUG": ("true", True),
    "SUMMARIZATION_ENABLED": ("false", False),
    "DEFAULT_ALPHA": ("0.25", 0.25),
    "DB_MIN_POOL_SIZE": ("3", 3),
}


@pytest.mark.parametrize("name", sorted(LEGACY))
@pytest.mark.parametrize("spelt", [str.upper, str.lower])
def test_every_name_of_the_reference_sets_its_field(name: str, spelt: Any):
    section, field = LEGACY[name]
    text, value = VALUES.get(name, ("7", 7))
    found = getattr(getattr(loaded({spelt(name): text}), section), field)
    assert found == value
    assert found != getattr(getattr(loaded(), section), field)


def test_a_pool_s_least_is_not_above_its_most():
    assert loaded({"DB_MIN_POOL_SIZE": "9", "DB_MAX_POOL_SIZE": "9"}).database.min_pool_size == 9
    with pytest.raises(SettingsInvalid, match=r"^DB_MIN_POOL_SIZE must not be above DB_MAX_POOL_SIZE\.$"):
        loaded({"DB_MIN_POOL_SIZE": "9", "DB_MAX_POOL_SIZE": "8"})


@pytest.mark.parametrize("order", [1, -1])
def test_our_name_wins_over_the_references_for_the_same_thing(order: int):
    both = [("DEFAULT_ALPHA", "0.1"), ("memex_ranking_alpha", "0.2")][::order]
    assert loaded(dict(both)).ranking.alpha == 0.2


def test_every_field_has_a_name_of_its_own_that_acts():
    fields = [(section, f.name) for section, kind in SECTIONS.items() for f in msgspec.structs.fields(kind)]
    assert sorted(names().values()) == sorted(fields)


@pytest.mark.parametrize("name", ["MEMEX_SERVER_PROT", "memex_alpha", "MEMEX_", "MEMEX_HOMES", "MEMEX_DATABASE"])
def test_an_unknown_name_that_looks_like_ours_is_refused_by_name(name: str):
    with pytest.raises(SettingsInvalid, match=f"^{name} is not a setting"):
        loaded({name: "1"})


def test_what_kubernetes_and_others_put_into_the_environment_is_ignored():
    injected = {
        "MEMEX_SERVICE_HOST": "10.0.0.1",
        "MEMEX_SERVICE_PORT": "8000",
        "MEMEX_SERVICE_PORT_HTTP": "8000",
        "MEMEX_PORT": "tcp://10.0.0.1:8000",
        "MEMEX_PORT_8000_TCP_ADDR": "10.0.0.1",
        "MEMEX_HOME": "somewhere",
        "memex_home": "somewhere",
        "HOME": "x",
        "PORT": "1",
        "MEMEXTRA": "1",
    }
    assert loaded(injected) == loaded()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DEFAULT_ALPHA": "1.5"}, ["MEMEX_RANKING_ALPHA or DEFAULT_ALPHA", "<= 1"]),
        ({"DEFAULT_ALPHA": "nan"}, ["MEMEX_RANKING_ALPHA or DEFAULT_ALPHA"]),
        ({"DEFAULT_ALPHA": ""}, ["MEMEX_RANKING_ALPHA or DEFAULT_ALPHA"]),
        ({"DEFAULT_TOP_K": "51"}, ["MEMEX_RANKING_TOP_K or DEFAULT_TOP_K", "<= 50"]),
        ({"WORKERS": "two"}, ["MEMEX_SERVER_WORKERS or WORKERS", "whole number"]),
        ({"WORKERS": "0"}, ["MEMEX_SERVER_WORKERS", ">= 1"]),
        ({"DB_COMMAND_TIMEOUT": "inf"}, ["MEMEX_DATABASE_COMMAND_TIMEOUT or DB_COMMAND_TIMEOUT"]),
        ({"MEMEX_LOG_LEVEL": "loud"}, ["MEMEX_LOG_LEVEL", "loud", "one of debug, info, warning, error"]),
        ({"MEMEX_SERVER_PORT": "65536"}, ["MEMEX_SERVER_PORT", "<= 65535"]),
        ({"APP_NAME": "\udcff"}, ["MEMEX_APP_NAME or APP_NAME", "UTF-8"]),
        ({"DATABASE_URL": "postgresql://\udcff@host/name"}, ["MEMEX_DATABASE_URL or DATABASE_URL", "UTF-8"]),
        ({"EMBEDDING_MODEL": "a\0b"}, ["MEMEX_EMBEDDING_MODEL or EMBEDDING_MODEL", "without NUL"]),
        ({"MEMEX_LOG_LEVEL": "\udcff"}, ["MEMEX_LOG_LEVEL", "UTF-8"]),
        ({"MEMEX_SERVER_ALLOWED_HOSTS": "a.example,\udcff"}, ["MEMEX_SERVER_ALLOWED_HOSTS", "UTF-8"]),
    ],
)
def test_a_value_that_is_not_valid_is_told_with_its_names(environment: dict[str, str], words: list[str]):
    with pytest.raises(SettingsInvalid) as refused:
        loaded(environment)
    assert all(word in refused.value.message for word in words), refused.value.message
    assert "$" not in refused.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ranking]\nalhpa = 1\n", ["[ranking]", "alhpa"]),
        ("[rankings]\nalpha = 1\n", ["[rankings]"]),
        ("alpha = 1\n", ["[alpha]"]),
        ("server = 3\n", ["server must be a section", "[server]"]),
        ("[ranking\n", ["cannot be read"]),
        ("[ranking]\nalpha = 'much'\n", ["MEMEX_RANKING_ALPHA"]),
        ('[server]\nhost = "\\u0000"\n', ["MEMEX_SERVER_HOST", "without NUL"]),
        ('[server]\nallowed_hosts = ["a.example", "\\u0000"]\n', ["MEMEX_SERVER_ALLOWED_HOSTS", "without NUL"]),
    ],
)
def test_a_file_that_is_not_valid_is_told_with_the_place(home: Path, text: str, words: list[str]):
    write(home, text)
    with pytest.raises(SettingsInvalid) as refused:
        loaded(home=home)
    assert all(word in refused.value.message for word in words), refused.value.message


def test_a_file_that_is_not_text_is_told(home: Path):
    (home / "config" / "memex.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        loaded(home=home)


@pytest.mark.parametrize(
    ("word", "truth"),
    [
        ("1", True),
        ("true", True),
        ("TRUE", True),
        ("Yes", True),
        ("on", True),
        ("0", False),
        ("off", False),
        ("n", False),
    ],
)
def test_yes_and_no_have_the_words_of_the_reference(word: str, truth: bool):
    assert loaded({"DEBUG": word}).app.debug is truth
    assert loaded({"SUMMARIZATION_ENABLED": word}).summarization.enabled is truth


def test_hosts_are_a_list_between_commas(home: Path):
    assert loaded({"MEMEX_SERVER_ALLOWED_HOSTS": " a.example, ,b.example "}).server.allowed_hosts == (
        "a.example",
        "b.example",
    )
    write(home, "[server]\nallowed_hosts = ['c.example']\n")
    assert loaded(home=home).server.allowed_hosts == ("c.example",)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:tuna-eel@127.0.0.1:5432/memex",
        "postgresql://ana:tuna@eel/@127.0.0.1/memex",
        "postgresql://:tuna-eel@/memex?host=/tmp",
        "postgresql://127.0.0.1/memex?user=ana&password=tuna-eel&sslmode=disable",
        "host=127.0.0.1 password=tuna-eel dbname=memex",
        r"host=127.0.0.1 password = 'tuna\' eel' dbname=memex",
    ],
)
def test_a_password_is_in_no_representation(url: str):
    settings: Settings = loaded({"DATABASE_URL": url})
    assert settings.database.url == url
    for shown in (repr(settings), str(settings.database), f"{settings.database}"):
        assert "tuna" not in shown
        assert "eel" not in shown
        assert "memex" in shown


@pytest.mark.parametrize(
    "text",
    [
        "tuna-eel",
        "tuna=eel",
        "postgres//ana:tuna-eel@host",
        "postgresql://ana:tuna-eel",
        "postgresql://ana?tuna-eel@host/memex",
        r"host=127.0.0.1 password=tuna\ eel dbname=memex",
        "host=127.0.0.1 password='tuna eel dbname=memex",
        "host=127.0.0.1 tuna-eel",
    ],
)
def test_nothing_is_shown_of_what_is_no_connection_string(text: str):
    assert redacted(text) == "***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("postgresql:///memex", "postgresql:///memex"),
        (
            "postgresql://ana:x@[::1]:1,b:2/memex?sslmode=disable",
            "postgresql://ana:***@[::1]:1,b:2/memex?sslmode=disable",
        ),
        ("host='/a b' user=ana password=x", "host='/a b' user=ana password=***"),
    ],
)
def test_a_connection_string_is_shown_without_its_password(text: str, shown: str):
    assert redacted(text) == shown


def test_a_time_that_no_statement_could_keep_is_refused():
    with pytest.raises(SettingsInvalid, match="DB_COMMAND_TIMEOUT"):
        loaded({"DB_COMMAND_TIMEOUT": "0.001"})


def test_the_home_is_named_or_the_users_own(tmp_path: Path):
    assert home_of({"MEMEX_HOME": str(tmp_path)}) == home_of({"memex_home": str(tmp_path)}) == tmp_path
    assert home_of({"MEMEX_HOME": "~/x"}) == Path.home() / "x"
    assert home_of({}).name == "memex"


def test_a_set_value_has_the_type_of_its_field():
    assert loaded({"MEMEX_LOG_LEVEL": "error"}).log.level is LogLevel.ERROR
