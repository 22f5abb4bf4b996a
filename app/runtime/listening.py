"""The socket a server listens on: taken before anything else is begun.

It is bound first and opened only when there is somebody to answer. So a port that is in use is said
at once, and nobody who can connect has to wait for a start that goes on behind.
"""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what to call it, not to bind it
_BACKLOG: Final = 2048


class AddressError(RuntimeError):
    """The address cannot be served on; the message says why."""


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Bind an address; it does not take connections before :func:`listen`.

    Raises:
        AddressError: it is in use, not ours, or none at all.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        message = f"{host!r} is not an address to serve on: {error}"
        raise AddressError(message) from None
    with socket.socket(family, kind, protocol) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(address)
        except OSError as error:
            raise _refused(host, port, error) from None
        yield made


@contextmanager
def bound_often(host: str, port: int, count: int) -> Iterator[list[socket.socket]]:
    """Bind an address several times: the system spreads connections over those that listen.

    Raises:
        AddressError: it is in use, not ours, or none at all.
    """
    # Whoever shares a port is not told that it is in use: so ask for it alone first.
    with bound(host, port) as alone:
        address = alone.getsockname()
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            each = stack.enter_context(socket.socket(alone.family, alone.type, alone.proto))
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                each.bind(address)
            except OSError as error:
                raise _refused(host, port, error) from None
            made.append(each)
        yield made


def inherited(descriptor: int) -> socket.socket:
    """Take over a socket that another process bound and left to this one.

    Raises:
        AddressError: there is no such socket.
    """
    try:
        return socket.socket(fileno=descriptor)
    except OSError as error:
        message = f"no socket was left under {descriptor}: {error.strerror}"
        raise AddressError(message) from None


def listen(bound_socket: socket.socket) -> None:
    """Take connections from now on.

    Raises:
        AddressError: another process began to listen there meanwhile.
    """
    try:
        bound_socket.listen(_BACKLOG)
    except OSError as error:
        host, port = bound_socket.getsockname()[:2]
        raise _refused(host, port, error) from None


def url_of(bound_socket: socket.socket) -> str:
    """Tell how to reach it from this machine."""
    host, port = bound_socket.getsockname()[:2]
    host = _ANY.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _refused(host: str, port: int, error: OSError) -> AddressError:
    if error.errno == errno.EADDRINUSE:
        return AddressError(f"port {port} of {host} is in use: choose another with --port")
    return AddressError(f"cannot serve on port {port} of {host}: {error.strerror}")
