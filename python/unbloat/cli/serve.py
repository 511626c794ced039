"""`unbloat serve`: the far end of a measured line."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import listed
from unbloat.cli.terminal import say
from unbloat.system.files import write_text

SERVE_EXAMPLES = """\
unbloat serve
unbloat serve --port 443 --certificate fullchain.pem --key privkey.pem
unbloat serve --unit | sudo tee /etc/systemd/system/unbloat-serve.service"""

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
"""The congestion controls that programs without root may choose."""

UNIT = """\
[Unit]
Description=Far end of measured lines (unbloat)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={command}
DynamicUser=yes
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6
MemoryMax=512M
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""


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
    ] = 64,
    all_connections: Annotated[
        int, typer.Option("--all-connections", metavar="N", min=1, help="Open connections of all clients.")
    ] = 512,
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
        typer.Option("--ready-file", metavar="FILE", help="Write the ports to this file once the server listens."),
    ] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Print a systemd unit that runs this command, and end.")] = False,
) -> None:
    """Serve the far end of a line for `unbloat line` and other clients.

    Clients measure their line against this computer: with HTTP/2 over TLS as draft-ietf-ippm-responsiveness describes,
    with probes over UDP, and with plain TCP transfers. The command needs no root and stores nothing. It ends with
    Ctrl-C.
    """
    if unit:
        say(UNIT.format(command=" ".join(_own_command(sys.argv))))
        return
    if (certificate is None) is not (key is None):
        raise InputError(f"--{'key' if certificate else 'certificate'} is missing: a certificate needs its key")
    try:
        address_family(address)
    except OSError:
        raise InputError(f"--address {address} is not an IP address such as 0.0.0.0 or ::") from None
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # For `sigwait`, in all threads.
    server = _core.LineServer(
        address,
        port,
        client_bytes=_size(client_bytes, "--client-bytes"),
        all_bytes=_size(all_bytes, "--all-bytes"),
        client_connections=client_connections,
        all_connections=all_connections,
        seconds=seconds,
        controls=listed(cc, "--cc") or ALLOWED.read_text().split(),
        names=listed(name, "--name") or [socket.gethostname(), "localhost"],
        certificate=(certificate, key) if certificate and key else None,
    )
    try:
        assert server.ports is not None
        https, transfer = server.ports
        say(f"listens on port {https} (HTTPS over TCP, probes over UDP) and port {transfer} (plain TCP)")
        sys.stdout.flush()
        if ready_file:
            write_text(ready_file, f"{https} {transfer}\n")
        signal.sigwait(ends)
    finally:
        server.stop()


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


def _own_command(words: Sequence[str]) -> list[str]:
    """Return this command as a unit runs it: with the program's whole path, and without `--unit`."""
    return [str(Path(words[0]).resolve()), *(word for word in words[1:] if word != "--unit")]
