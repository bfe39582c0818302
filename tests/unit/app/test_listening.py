"""What is judged before anything is started."""

import socket
from pathlib import Path

import pytest

from memex.app.listening import check_address, loopback, reserved
from memex.errors import AddressRefused, PortTaken
from memex.settings import Auth, AuthMode, Server, Settings

REMOTE = [
    "0.0.0.0",
    "::",
    "192.0.2.1",
    "10.0.0.1",
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


@pytest.mark.parametrize("host", ["memex.example", "localhost.example", "127.0.0.1.example", "127.0.0.1 ", ""])
def test_a_name_is_not_taken_for_a_loopback_address(host: str):
    assert not loopback(host)


@pytest.mark.parametrize("mode", AuthMode)
@pytest.mark.parametrize("host", ["", "x" * 64])  # the latter is longer than a part of a name may be: nobody is asked
def test_what_is_no_host_is_called_so(host: str, mode: AuthMode):
    with pytest.raises(AddressRefused, match="There is no host '"):
        check_address(Settings(home=Path("unused"), server=Server(host=host), auth=Auth(mode=mode)))


def test_the_service_is_local_by_default():
    settings = Settings(home=Path("unused"))
    assert loopback(settings.server.host)
    assert settings.auth.mode is AuthMode.LOCAL


def test_a_port_in_use_is_told_with_the_remedy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"127\.0\.0\.1:{port} .*--port"), reserved("127.0.0.1", port):
            pass
    with reserved("127.0.0.1", port) as address:
        assert address == "127.0.0.1"


def test_an_address_that_is_not_ours_is_told_in_the_same_way():
    with pytest.raises(PortTaken, match=r"192\.0\.2\.1"), reserved("192.0.2.1", 8000):
        pass


def test_a_reserved_port_lets_our_workers_in_and_no_other_memex():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with reserved("127.0.0.1", port), socket.socket() as worker:
        with pytest.raises(PortTaken), reserved("127.0.0.1", port):
            pass
        worker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        worker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        worker.bind(("127.0.0.1", port))
        worker.listen()
        with socket.create_connection(("127.0.0.1", port)):
            worker.accept()[0].close()


def test_a_name_is_resolved():
    with reserved("localhost", 0) as address:
        assert address != "localhost"
        assert loopback(address)
