"""Where the page is served, and under which names."""

import contextlib
import ipaddress
import socket

from ..errors import OptionError

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address, or an error that says what is wrong with it."""
    if not 0 <= port < 2**16:
        raise OptionError(f"a port is a number from 0 to {2**16 - 1}, got {port}")
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as wrong:
        if listening is not None:
            listening.close()
        raise OptionError(
            f"cannot listen at {host}, port {port}: {wrong}; port 0 takes a free one"
        ) from wrong
    return listening


def allowed_hosts(host: str) -> list[str]:
    """The names by which a page served at this address may be called."""
    if is_loopback(host):
        return list(LOOPBACK)
    own = {host}
    if host in {"0.0.0.0", "::"}:
        own = {socket.gethostname(), socket.getfqdn()}
        with contextlib.suppress(OSError):  # a machine that does not know its own name
            own |= {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)}
    bracketed = {f"[{name}]" for name in own if ":" in name}
    return [*LOOPBACK, *sorted(own | bracketed)]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
