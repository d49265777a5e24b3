"""The tunnel and those who should not come through it, and peers that go: each a coded error, in time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import in_threads

from vertwin.errors import UserError
from vertwin.parties import tunnel_streams
from vertwin.parties.identity import Identity, load


def faults_of(tunnels, seconds=10.0):
    """What each party's waiting ends with: the codes, or None for a link."""

    def party(tunnel):
        try:
            tunnel.wait_for_peers(seconds)
        except UserError as error:
            return error
        return None

    return in_threads({name: lambda tunnel=tunnel: party(tunnel) for name, tunnel in tunnels.items()})


def codes(errors):
    return {name: None if error is None else error.codes for name, error in errors.items()}


def until(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def test_a_party_of_the_same_name_with_another_key_is_refused_on_both_sides(pair):
    """The insurer made new keys and told nobody: the clinic does not take it, it does not pass for the insurer."""
    pair.known["insurer", "insurer"] = pair.identity("insurer", "-again")
    errors = faults_of({name: pair.tunnel(name) for name in ("clinic", "insurer")})
    assert codes(errors) == {"clinic": ("E431",), "insurer": ("E432",)}
    assert pair.identities["insurer"].fingerprint in str(errors["clinic"])
    assert {fault.code for fault in pair.tunnels[0].turned_away} == {"E437"}
    assert any("E437 turned away a connection from 127.0.0.1" in line for line in pair.notices["clinic"])


def test_a_pin_that_only_one_side_has_wrong_stops_both(pair):
    pair.known["clinic", "insurer"] = pair.identity("insurer", "-old")
    errors = faults_of({name: pair.tunnel(name) for name in ("clinic", "insurer")})
    assert codes(errors) == {"clinic": ("E431",), "insurer": ("E432",)}


@pytest.mark.parametrize("days", [-40, +40])
def test_a_certificate_out_of_its_time_is_refused(pair, monkeypatch, days):
    """A party whose clock is off by weeks."""
    true = Identity.tls_files

    def shifted(self: Identity, folder: Path, now: datetime | None = None):
        moved = datetime.now(UTC) + timedelta(days=days if self.name == "insurer" else 0)
        return true(self, folder, moved)

    monkeypatch.setattr(Identity, "tls_files", shifted)
    errors = faults_of({name: pair.tunnel(name) for name in ("clinic", "insurer")})
    assert codes(errors) == {"clinic": ("E433",), "insurer": ("E432",)}
    assert ("expired" if days < 0 else "not valid yet") in str(errors["clinic"])
    assert "E433" in {fault.code for fault in pair.tunnels[0].turned_away}


def test_a_stranger_gets_nothing_and_disturbs_nobody(pair, tmp_path):
    """A stranger with an identity of its own, dialled with our own client; with no certificate; with plain bytes."""
    tunnels, links = pair.joined()
    port = pair.ports["clinic"]
    stranger = pair.identity("insurer", "-stranger")
    files = stranger.tls_files(tmp_path)
    for chain in (files, None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if chain:
            context.load_cert_chain(*chain)
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain) as connection,
        ):
            header = tunnel_streams.Header(tunnel_streams.Kind.CONTROL, b"x" * 16, bytes(16))
            try:
                connection.sendall(header.encode())
                received = connection.recv(100)
            except OSError:
                received = b""
            assert received == b""
    for greeting in (b"GET / HTTP/1.1\r\n\r\n", b"PRPC" + bytes(100)):
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(greeting)
            with contextlib.suppress(ConnectionResetError):
                assert plain.recv(100) in (b"",)
    until(lambda: len(tunnels["clinic"].turned_away) >= 3)
    assert {fault.code for fault in tunnels["clinic"].turned_away} == {"E437", "E438"}
    links["insurer"].send("clinic", b"still here")
    assert links["clinic"].receive("insurer") == b"still here"


def test_callers_that_say_nothing_are_let_go(pair):
    tunnels, _ = pair.joined(replace(pair.limits, handshake=0.4))
    with socket.create_connection(("127.0.0.1", pair.ports["clinic"])) as mute:
        mute.settimeout(6)
        assert mute.recv(1) == b""
    assert tunnels["clinic"].turned_away == ()


def test_another_service_at_the_address_is_named(pair):
    answered = []

    def serve(listening):
        for _ in range(3):  # it is believed after the third time
            connection, _ = listening.accept()
            with connection:
                answered.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", pair.ports["insurer"])) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        errors = faults_of({"clinic": pair.tunnel("clinic")})
    assert codes(errors) == {"clinic": ("E434",)}
    assert len(answered) == 3


def test_a_peer_that_never_comes_is_named_with_address_and_file(pair):
    errors = faults_of({"clinic": pair.tunnel("clinic")}, seconds=0.5)
    assert codes(errors) == {"clinic": ("E430",)}
    assert f'"insurer" at 127.0.0.1:{pair.ports["insurer"]}' in str(errors["clinic"])
    assert "peers.toml" in str(errors["clinic"])


def test_a_peer_that_is_reached_but_cannot_reach_us_is_told_apart(pair):
    clinic = pair.tunnel("clinic")
    pair.ports["clinic"] = pair.port()  # what the insurer believes
    insurer = pair.tunnel("insurer")
    errors = faults_of({"clinic": clinic, "insurer": insurer}, seconds=0.7)
    assert codes(errors) == {"clinic": ("E430",), "insurer": ("E430",)}
    assert "has not reached this party" in str(errors["clinic"])
    assert "firewall" in str(errors["clinic"])


def test_another_version_of_the_tunnel_is_named(pair, monkeypatch):
    true = tunnel_streams.Header.encode
    monkeypatch.setattr(tunnel_streams.Header, "encode", lambda self: true(self)[:7] + b"\x09" + true(self)[8:])
    errors = faults_of({name: pair.tunnel(name) for name in ("clinic", "insurer")})
    assert codes(errors) == {"clinic": ("E435",), "insurer": ("E435",)}


def test_a_peer_that_stops_for_an_error_tells_its_code_alone(pair):
    tunnels, links = pair.joined()
    links["insurer"].send("clinic", b"last words")
    tunnels["insurer"].close(("E205",))
    assert links["clinic"].receive("insurer") == b"last words"
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("insurer")
    assert caught.value.codes == ("E401",)
    assert "E205, missing value refused" in str(caught.value)
    with pytest.raises(UserError):
        links["clinic"].check()
    with pytest.raises(UserError):
        links["clinic"].send("insurer", b"x")


def test_an_error_inside_the_tunnels_block_is_what_peers_are_told(pair):
    tunnels, links = pair.joined()
    tunnels["insurer"].__exit__(ValueError, ValueError("private text"), None)
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("insurer")
    assert "E499" in str(caught.value) and "private" not in str(caught.value)


def test_a_peer_that_ended_in_peace_is_missed_only_by_whoever_waits_for_it(meeting):
    meeting.invite("clinic", "insurer", "register")
    tunnels, links = meeting.joined()
    tunnels["register"].close()
    waiting = threading.Timer(0.6, lambda: links["insurer"].send("clinic", b"later"))
    waiting.start()
    assert links["clinic"].receive("insurer") == b"later"
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("register")
    assert caught.value.codes == ("E402",)
    waiting.join()


def test_messages_to_nobody_after_ones_own_close(pair):
    tunnels, links = pair.joined()
    tunnels["clinic"].close()
    with pytest.raises(UserError) as caught:
        links["clinic"].send("insurer", b"x")
    assert caught.value.codes == ("E402",)


def test_a_slow_peer_is_not_dead_and_a_stopped_one_is(pair):
    """Silence is judged by the peer's heartbeat, and not at all while this party itself was asleep."""
    tunnels, links = pair.joined(replace(pair.limits, silence=0.6))
    time.sleep(0.9)  # nobody says anything for longer than the limit: the hearts beat
    links["clinic"].check()
    loop = tunnels["insurer"]._loop
    assert loop is not None
    loop.call_soon_threadsafe(time.sleep, 1.2)  # the insurer's process is stopped, as the clinic sees it
    time.sleep(0.9)
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("insurer")
    assert caught.value.codes == ("E402",) and "not been heard of" in str(caught.value)
    links["insurer"].check()  # it slept itself, and blames nobody
    time.sleep(0.45)
    links["insurer"].check()


PEER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from parties.conftest import QUICK
from vertwin.parties import Identity, Peer, Peers, PublicIdentity, Tunnel
from vertwin.parties.identity import load
from vertwin.parties.peers import Address
mine, other, folder, my_port, port = load("insurer", Path(sys.argv[2])), sys.argv[3], 0, sys.argv[4], sys.argv[5]
shown = PublicIdentity.read(Path(other))
peers = Peers(Address("127.0.0.1", int(my_port)), (Peer("clinic", Address("127.0.0.1", int(port)), shown),))
tunnel = Tunnel(mine, peers, ("clinic", "insurer"), print, QUICK)
tunnel.open()
link = tunnel.wait_for_peers(20)
link.send("clinic", b"here")
time.sleep(60)
"""


@pytest.mark.parametrize(("how", "said"), [(signal.SIGKILL, "closed the connection"), (signal.SIGSTOP, "stopped")])
def test_a_killed_or_stopped_process_is_noticed_in_time(pair, how, said, request):
    temporary = tempfile.mkdtemp()  # what a killed process leaves behind
    request.addfinalizer(lambda: shutil.rmtree(temporary))
    clinic = pair.tunnel("clinic")
    arguments = [
        str(Path(__file__).parent.parent),
        str(pair.identities["insurer"].folder),
        str(pair.identities["clinic"].public_file),
        str(pair.ports["insurer"]),
        str(pair.ports["clinic"]),
    ]
    with subprocess.Popen(
        [sys.executable, "-c", PEER, *arguments], stdout=subprocess.DEVNULL, env=os.environ | {"TMPDIR": temporary}
    ) as process:
        try:
            link = clinic.wait_for_peers(20)
            assert link.receive("insurer") == b"here"
            start = time.monotonic()
            os.kill(process.pid, how)
            with pytest.raises(UserError) as caught:
                link.receive("insurer")
            assert caught.value.codes == ("E402",) and said in str(caught.value)
            assert time.monotonic() - start < 3
        finally:
            process.kill()


def test_a_peer_that_is_started_again_is_taken_before_the_run_and_refused_in_it(pair):
    clinic = pair.tunnel("clinic")
    pair.tunnel("insurer")
    until(lambda: clinic._lines["insurer"].complete)
    pair.tunnels.pop().close()
    again = pair.tunnel("insurer")
    links = in_threads({"clinic": lambda: clinic.wait_for_peers(10), "insurer": lambda: again.wait_for_peers(10)})
    links["insurer"].send("clinic", b"hello")
    assert links["clinic"].receive("insurer") == b"hello"
    pair.tunnels.pop().close()
    pair.tunnel("insurer")
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("insurer")
    assert caught.value.codes == ("E402",)
    assert codes(faults_of({"insurer": pair.tunnels[-1]}, seconds=0.5)) == {"insurer": ("E430",)}


def test_a_door_to_a_service_that_never_listens_is_closed(pair):
    tunnels, _ = pair.joined(replace(pair.limits, service=0.2))
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(os.fspath(tunnels["clinic"].door("insurer", "psi")))
        caller.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""


def test_garbage_of_an_authentic_peer_is_a_fault_not_a_crash(pair):
    tunnels, links = pair.joined()
    line = tunnels["insurer"]._lines["clinic"]
    loop = tunnels["insurer"]._loop
    assert loop is not None and line.outgoing is not None
    loop.call_soon_threadsafe(line.outgoing.writer.write, struct.pack("<BQ", 0, 1 << 60))
    with pytest.raises(UserError) as caught:
        links["clinic"].receive("insurer")
    assert caught.value.codes == ("E402",)


def test_a_key_that_was_replaced_does_not_load_with_the_old_file(pair):
    """The public file and the key must belong together: half a restored backup is noticed before anyone is called."""
    folder = pair.identities["clinic"].folder
    other = pair.identities["insurer"].folder / "identity.key"
    (folder / "identity.key").write_bytes(other.read_bytes())
    with pytest.raises(UserError) as caught:
        load("clinic", folder)
    assert caught.value.codes == ("E421",)
