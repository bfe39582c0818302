"""What is judged before anything is started."""

import socket
from pathlib import Path

import pytest

from memex.app.server import check_address, check_port, loopback
from memex.errors import AddressRefused, PortTaken
from memex.settings import Auth, AuthMode, Server, Settings

REMOTE = [
    "0.0.0.0",
    "::",
    "192.0.2.1",
    "10.0.0.1",
    "memex.example",
    "localhost.example",
    "",
    "127.0.0.1.example",
    "::2",
]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.53", "127.255.255.254", "::1", "localhost"])
def test_only_this_machine_reaches_a_loopback_address(host: str):
    assert loopback(host)
    check_address(Settings(home=Path("unused"), server=Server(host=host)))


@pytest.mark.parametrize("host", REMOTE)
def test_any_other_address_is_refused_unless_it_is_asked_for(host: str):
    assert not loopback(host)
    with pytest.raises(AddressRefused, match="MEMEX_AUTH_MODE=off"):
        check_address(Settings(home=Path("unused"), server=Server(host=host)))
    check_address(Settings(home=Path("unused"), server=Server(host=host), auth=Auth(mode=AuthMode.OFF)))


def test_the_service_is_local_by_default():
    settings = Settings(home=Path("unused"))
    assert loopback(settings.server.host)
    assert settings.auth.mode is AuthMode.LOCAL


def test_a_port_in_use_is_told_with_the_remedy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"127\.0\.0\.1:{port} .*--port"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


def test_an_address_that_is_not_ours_is_told_in_the_same_way():
    with pytest.raises(PortTaken, match=r"192\.0\.2\.1"):
        check_port("192.0.2.1", 8000)
