"""The socket of a server: bound early, opened late, and clear words if it cannot be had."""

import socket

import pytest

from app.runtime.listening import AddressError, bound, listen, url_of


def connects(url: str) -> bool:
    host, _, port = url.removeprefix("http://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])  # noqa: S104 - on purpose
def test_nobody_can_connect_before_somebody_answers(host: str) -> None:
    with bound(host, 0) as listener:
        url = url_of(listener)
        assert "0.0.0.0" not in url  # noqa: S104 - on purpose
        assert not connects(url)
        listen(listener)
        assert connects(url)


def test_a_port_in_use_is_said() -> None:
    with bound("127.0.0.1", 0) as listener:
        listen(listener)
        port = listener.getsockname()[1]
        said = f"port {port} of 127.0.0.1 is in use"
        with pytest.raises(AddressError, match=said), bound("127.0.0.1", port):
            pass


def test_a_port_that_two_were_bound_to_goes_to_who_listens_first() -> None:
    with bound("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with bound("127.0.0.1", port) as second:
            listen(first)
            with pytest.raises(AddressError, match="is in use"):
                listen(second)


@pytest.mark.parametrize("host", ["256.0.0.1", "no such host", "192.0.2.1"])
def test_an_address_that_is_not_ours_is_said(host: str) -> None:
    with pytest.raises(AddressError, match=host), bound(host, 0):
        pass
