"""Where memex listens, and that no other process listens there too."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from memex.errors import AddressRefused, PortTaken
from memex.settings import AuthMode, Settings


def check_address(settings: Settings) -> None:
    """Raises AddressRefused where others than this machine could reach a service that trusts everybody, or nobody."""
    host = settings.server.host
    if not known(host):
        raise AddressRefused(f"There is no host '{host}': serve 127.0.0.1, or an address that this machine has.")
    if settings.auth.mode is AuthMode.LOCAL and not loopback(host):
        raise AddressRefused(
            f"{host} is not served without keys, since whoever reaches it could read everything. "
            "Serve 127.0.0.1, or set MEMEX_AUTH_MODE=off if the network around it is closed."
        )


def loopback(host: str) -> bool:
    """Whether `host` is an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def known(host: str) -> bool:
    """Whether there is such an address."""
    try:
        return bool(socket.getaddrinfo(host, 0))
    except (OSError, UnicodeError):  # the latter for what no name can be
        return False


@contextmanager
def reserved(host: str, port: int) -> Iterator[str]:
    """The numeric address of `host`, whose `port` no other memex can reserve meanwhile. Raises PortTaken.

    The workers' listening sockets share the port with this one, which never listens: they must be let in, and
    another service, whose workers would silently share it too, must not.
    """
    try:
        holder, address = bound(host, port)
    except OSError as error:
        raise PortTaken(
            f"Cannot listen on {host}:{port} ({error.strerror}): "
            "stop what uses it, or choose another with --port or MEMEX_SERVER_PORT."
        ) from error
    with holder:
        yield address


def bound(host: str, port: int) -> tuple[socket.socket, str]:
    """A socket that holds the port, and the address that it holds it on."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    holder = socket.socket(family, socket.SOCK_STREAM)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections that linger are no hindrance
        holder.bind(address)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError:
        holder.close()
        raise
    return holder, str(address[0])
