"""`unbloat serve`: the far end of a measured line."""

from __future__ import annotations

import errno
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import listed
from unbloat.cli.terminal import say, tell
from unbloat.system.files import write_text
from unbloat.system.paths import DATA
from unbloat.system.systemd import command_line

SERVE_EXAMPLES = """\
unbloat serve
unbloat serve --port 443 --certificate fullchain.pem --key privkey.pem
unbloat serve --all-bytes 5gb --unit"""

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
"""The congestion controls that programs without root may choose."""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

UNIT = """\
[Unit]
Description=Far end of measured lines (unbloat)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={command}
{credentials}DynamicUser=yes
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
PrivateTmp=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
MemoryMax=512M
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""
HIDDEN = [Path("/home"), Path("/root"), Path("/run/user")]
"""Folders that `ProtectHome` hides from a service."""


def serve_command(
    address: Annotated[str, typer.Option("--address", metavar="ADDR", help="IP address to listen on.")] = "::",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port of HTTPS and UDP; 0: a free one.")
    ] = 4043,
    cc: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="NAME,...",
            help="Congestion controls that clients may ask for. Default: those that the kernel allows everybody.",
        ),
    ] = None,
    client_bytes: Annotated[
        str, typer.Option("--client-bytes", metavar="SIZE", help="Bytes an hour for a client, both ways together.")
    ] = "2gb",
    all_bytes: Annotated[
        str, typer.Option("--all-bytes", metavar="SIZE", help="Bytes an hour for all clients together.")
    ] = "50gb",
    client_connections: Annotated[
        int, typer.Option("--client-connections", metavar="N", min=1, help="Open connections of a client.")
    ] = 256,
    all_connections: Annotated[
        int, typer.Option("--all-connections", metavar="N", min=1, help="Open connections of all clients.")
    ] = 1024,
    seconds: Annotated[
        int, typer.Option("--seconds", metavar="N", min=1, help="Seconds after which a connection is closed.")
    ] = 120,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST,...", help="Names in the certificate that the server makes itself."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="PEM file with a certificate and its chain.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="PEM file with the certificate's private key.")
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option("--ready-file", metavar="FILE", help="Write the port to this file once the server listens."),
    ] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Print a systemd unit that runs this command, and end.")] = False,
) -> None:
    """Serve the far end of a line for `unbloat line` and other clients.

    Clients measure their line against this computer: with HTTP/2 over TLS as draft-ietf-ippm-responsiveness describes,
    with probes over UDP, and with plain TCP transfers. The command needs no root and stores nothing. It ends with
    Ctrl-C.
    """
    if (certificate is None) is not (key is None):
        raise InputError(f"--{'key' if certificate else 'certificate'} is missing: a certificate needs its key")
    try:
        family = address_family(address)
    except OSError:
        raise InputError(f"--address {address} is not an IP address such as 0.0.0.0 or ::") from None
    if unit:
        print_unit(sys.argv[1:], certificate, key)
        return
    check_port(family, address, port)
    start = partial(
        _core.LineServer,
        address,
        port,
        client_bytes=_size(client_bytes, "--client-bytes"),
        all_bytes=_size(all_bytes, "--all-bytes"),
        client_connections=client_connections,
        all_connections=all_connections,
        seconds=seconds,
        controls=offered(listed(cc, "--cc")),
        names=listed(name, "--name") or [socket.gethostname(), "localhost"],
        certificate=(certificate, key) if certificate and key else None,
    )
    serve_until_signal(start, ready_file)


def serve_until_signal(start: Callable[[], _core.LineServer], ready_file: Path | None) -> None:
    """Start a server, say where it listens, and wait for Ctrl-C or another signal that ends it."""
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # For `sigwait`, in all threads.
    server = start()
    try:
        say(f"listens on port {server.port}: HTTPS and plain transfers over TCP, probes over UDP")
        sys.stdout.flush()
        if ready_file:
            write_text(ready_file, f"{server.port}\n")
        signal.sigwait(ends)
    finally:
        server.stop()


def offered(wanted: Sequence[str]) -> list[str]:
    """Return the congestion controls that clients may ask for; warn of those that this kernel does not have."""
    available = AVAILABLE.read_text().split()
    for name in wanted:
        if name not in available:
            tell(f"warning: --cc {name}: this kernel does not offer it now (it has {', '.join(available)})")
    return [*wanted] or ALLOWED.read_text().split()


def address_family(address: str) -> socket.AddressFamily:
    """Return whether a text is an address of IPv4 or IPv6; raise `OSError` if it is neither."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    socket.inet_pton(family, address)
    return family


def _size(text: str, option: str) -> int:
    """Read a number of bytes."""
    match _core.quantity(text):
        case ("bytes", number) if number >= 1:
            return int(number)
    raise InputError(f'{option} {text} is not a size such as "500mb" or "2gb"')


# ---------------------------------------------------------------- What may be in the way


def check_port(family: socket.AddressFamily, address: str, port: int) -> None:
    """Raise `InputError` if the system does not let this process listen on a port."""
    for kind, name in ((socket.SOCK_STREAM, "TCP"), (socket.SOCK_DGRAM, "UDP")):
        try:
            with socket.socket(family, kind) as trial:
                # Connections of a server that has just ended do not count.
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(kind == socket.SOCK_STREAM))
                trial.bind((address, port))
        except OSError as error:
            raise InputError(_refused(error, address, port, name)) from None


def _refused(error: OSError, address: str, port: int, protocol: str) -> str:
    """Say why the system refuses a port, and what to do."""
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"--port {port}: another program listens on {protocol} port {port} of {address}; choose another port, "
                "or 0 for a free one"
            )
        case errno.EACCES:
            return f"--port {port}: needs root or the capability CAP_NET_BIND_SERVICE; ports from 1024 on need neither"
        case errno.EADDRNOTAVAIL:
            return f"--address {address} is not an address of this computer"
        case errno.EAFNOSUPPORT:
            return f"--address {address} needs IPv6, which this computer lacks; --address 0.0.0.0 listens on IPv4"
        case _:
            return f"--address {address} --port {port}: {(error.strerror or str(error)).lower()}"


# ---------------------------------------------------------------- The unit


def print_unit(words: Sequence[str], certificate: Path | None, key: Path | None) -> None:
    """Print a systemd unit that runs this command, which has these words."""
    start = command_line([sys.executable, "-m", "unbloat", *_without_files(words)])
    credentials = ""
    for name, file in (("certificate", certificate), ("key", key)):
        if file:
            # Root alone may read a key. systemd, which is root, hands it to the service's user.
            start += f" --{name} %d/{name}"
            credentials += f"LoadCredential={name}:{str(file.absolute()).replace('%', '%%')}\n"
    sys.stdout.write(UNIT.format(command=start, credentials=credentials))  # Its lines are not folded.
    for path in (Path(sys.executable), Path(sys.executable).resolve(), DATA.parent.resolve()):
        if any(path.is_relative_to(hidden) for hidden in HIDDEN):
            tell(
                f"warning: the service may not read {path}; install unbloat as root (`sudo make install`) and "
                "print the unit with /usr/local/bin/unbloat"
            )
            return


def _without_files(words: Sequence[str]) -> Iterator[str]:
    """Leave out `--unit`, and the options that name files which the service gets in another way."""
    options = ("--certificate", "--key")
    left = iter(words)
    for word in left:
        if word in options:
            next(left)
        elif word != "--unit" and word.partition("=")[0] not in options:
            yield word
