"""The tunnel between parties that may be there: messages, doors, engines, start orders."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import in_threads

from vertwin.engine import Input, Program, Settings
from vertwin.errors import UserError
from vertwin.parties import Tunnel
from vertwin.parties.peers import Address


def test_messages_arrive_whole_and_in_order_and_are_counted(pair):
    tunnels, links = pair.joined()
    large = os.urandom(5_000_000)

    def party(me, peer):
        links[me].send(peer, large)
        for number in range(200):
            links[me].send(peer, b"%d" % number)
        assert links[me].receive(peer) == large
        assert [int(links[me].receive(peer)) for _ in range(200)] == list(range(200))
        return links[me].exchange("names", me.encode())

    met = in_threads({"clinic": lambda: party("clinic", "insurer"), "insurer": lambda: party("insurer", "clinic")})
    assert met["clinic"] == met["insurer"] == {"clinic": b"clinic", "insurer": b"insurer"}
    here, there = tunnels["clinic"].traffic()["insurer"], tunnels["insurer"].traffic()["clinic"]
    assert (here.sent, here.received) == (there.received, there.sent)
    assert min(here.sent, there.sent) > len(large)


@pytest.mark.parametrize("first", ["clinic", "insurer"])
def test_parties_start_in_any_order_and_say_whom_they_wait_for(pair, first):
    second = "insurer" if first == "clinic" else "clinic"
    early = pair.tunnel(first)
    waiting = threading.Thread(target=early.wait_for_peers, args=(20,))
    waiting.start()
    time.sleep(0.5)
    assert pair.notices[first][0] == (
        f'waiting for party "{second}" at 127.0.0.1:{pair.ports[second]} (peers.toml): '
        "nothing answers there yet (Connection refused)"
    )
    pair.tunnel(second).wait_for_peers(10)
    waiting.join(10)
    assert not waiting.is_alive()
    assert pair.notices[first][-1] == f'party "{second}" is connected'


def echo(path):
    """An engine that answers every piece with the same piece, reversed."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.fspath(path))
    listening.listen()

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                while piece := connection.recv(1 << 16):
                    connection.sendall(piece[::-1] if len(piece) < 10 else piece)

    threading.Thread(target=serve, daemon=True).start()
    return listening


def exactly(connection, size):
    pieces = []
    while size:
        pieces.append(connection.recv(min(size, 1 << 16)))
        assert pieces[-1]
        size -= len(pieces[-1])
    return b"".join(pieces)


def test_a_door_leads_to_the_peers_service_and_waits_until_it_listens(pair):
    tunnels, _ = pair.joined()
    content = os.urandom(3_000_000)
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(os.fspath(tunnels["clinic"].door("insurer", "psi")))
        caller.sendall(b"abc")
        time.sleep(0.1)  # nobody listens yet
        with echo(tunnels["insurer"].service("psi")):
            assert exactly(caller, 3) == b"cba"
            writing = threading.Thread(target=caller.sendall, args=(content,))
            writing.start()
            assert exactly(caller, len(content)) == content
            writing.join()
    assert tunnels["clinic"].traffic()["insurer"].sent >= len(content)
    assert tunnels["insurer"].traffic()["clinic"].received >= len(content)


def test_real_engines_compute_through_two_tunnels(pair, tmp_path):
    from vertwin.engine.spu import SpuEngine
    from vertwin.rehearsal.receipt import WATERMARK, issue

    tunnels, links = pair.joined()
    nodes = ("clinic", "insurer")
    columns = {name: np.random.default_rng(i).integers(0, 2, (400, 5)) for i, name in enumerate(nodes)}
    program = Program(
        "secure_functions:pair_product",
        (
            Input("a", nodes[0], (400, 5), "int64"),
            Input("b", nodes[1], (400, 5), "int64"),
            Input("noise_a", nodes[0], (5, 5), "int64"),
            Input("noise_b", nodes[1], (5, 5), "int64"),
        ),
        Settings("cheetah", 64, 18, nodes),
    )
    noise = np.arange(25).reshape(5, 5)

    def party(me):
        engine = SpuEngine(links[me], me, tunnels[me].engine_addresses, tmp_path / f"{me}.log", WATERMARK)
        letter = "ab"[nodes.index(me)]
        try:
            shares = engine.run(program, {letter: columns[me], f"noise_{letter}": noise})
            opened = engine.reveal(shares, issue(shares), nodes)
            links[me].exchange("finished", b"")
            return opened
        finally:
            engine.close()

    opened = in_threads({name: lambda name=name: party(name) for name in nodes})
    truth = 256 * (columns["clinic"].T @ columns["insurer"]) + 2 * noise
    for name in nodes:
        assert np.array_equal(opened[name][0], truth)
    assert min(tunnels[name].traffic()[peer].sent for name, peer in (nodes, nodes[::-1])) > 100_000


def test_an_engine_in_the_middle_of_its_work_is_freed_when_the_peer_is_cut_off(pair, tmp_path):
    """SPU itself would wait for half an hour."""
    from vertwin.engine.spu import SpuEngine

    tunnels, links = pair.joined()
    nodes = ("clinic", "insurer")
    from vertwin.rehearsal.receipt import WATERMARK

    shape = (20_000, 40)
    program = Program(
        "secure_functions:pair_product",
        tuple(
            Input(name, nodes[i % 2], size, "int64")
            for i, (name, size) in enumerate({"a": shape, "b": shape, "noise_a": (40, 40), "noise_b": (40, 40)}.items())
        ),
        Settings("cheetah", 64, 18, nodes),
    )

    def party(me):
        engine = SpuEngine(links[me], me, tunnels[me].engine_addresses, tmp_path / f"{me}.log", WATERMARK)
        try:
            engine.run(
                program, {spec.name: np.ones(spec.shape, "int64") for spec in program.inputs if spec.owner == me}
            )
        except UserError as error:
            return error.codes, time.monotonic()
        finally:
            engine.close()
        return None

    def cut():
        while tunnels["insurer"].traffic()["clinic"].sent < 1_000_000:  # in the middle of the product
            time.sleep(0.02)
        tunnels["insurer"].close()
        return time.monotonic()

    ended = in_threads({"clinic": lambda: party("clinic"), "insurer": lambda: party("insurer"), "cut": cut})
    for name in nodes:
        assert ended[name][0] == ("E402",)
        assert ended[name][1] - ended["cut"] < 3


def test_a_party_that_listens_on_ipv6(pair):
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
            port = taken.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no IPv6")
    peers = pair.peers("clinic")
    tunnel = Tunnel(pair.identities["clinic"], replace(peers, listen=Address.parse(f"[::1]:{port}")), pair.identities)
    with tunnel, socket.create_connection(("::1", port)):
        pass


def test_three_parties_meet(meeting):
    meeting.invite("clinic", "insurer", "register")
    _, links = meeting.joined()
    words = in_threads({name: lambda name=name: links[name].exchange("x", name[:1].encode()) for name in links})
    assert set(map(str, words.values())) == {str({"clinic": b"c", "insurer": b"i", "register": b"r"})}


def test_nothing_is_left_after_close(pair):
    before = threading.active_count()
    tunnels, _ = pair.joined()
    folders = [tunnel.folder for tunnel in tunnels.values()]
    assert all(folder.stat().st_mode & 0o77 == 0 and len(os.fspath(folder)) < 80 for folder in folders)
    assert not any(list(folder.iterdir()) for folder in folders)  # no TLS key lies there
    for tunnel in tunnels.values():
        tunnel.close()
        tunnel.close()
    assert not any(folder.exists() for folder in folders)
    assert threading.active_count() <= before + 1
    with socket.create_server(("127.0.0.1", pair.ports["clinic"])):
        pass


def test_a_port_in_use_is_named(pair):
    with socket.create_server(("127.0.0.1", pair.ports["clinic"])), pytest.raises(UserError) as caught:
        pair.tunnel("clinic")
    pair.tunnels.clear()
    assert caught.value.codes == ("E429",)
    assert str(pair.ports["clinic"]) in str(caught.value)
