"""The ledger's file: killed at every write, cut at every byte, edited anywhere; what returned is never lost unseen."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from ledger.simulated_disk import CRASHES, SimulatedDisk, Stopped
from ledger.small_runs import FOLDER, Clock, attempt, countersigned_by, open_ledger, spending, whole_run

from vertwin.errors import UserError
from vertwin.ledger.attempts import AttemptState
from vertwin.ledger.chain import read_lines
from vertwin.ledger.disk import SystemDisk
from vertwin.ledger.file import CLOCK_TOLERANCE, LEDGER, LOCK, MARK
from vertwin.ledger.ledger import Ledger, read_history
from vertwin.ledger.pending import ENDING
from vertwin.ledger.secret import FILE as SECRET


def codes_of(action) -> tuple[str, ...]:
    try:
        action()
    except UserError as error:
        return error.codes
    return ()


@pytest.fixture
def disk() -> SimulatedDisk:
    """A ledger with a budget and two whole runs."""
    disk = SimulatedDisk()
    with open_ledger(disk) as ledger:
        ledger.set_budget("analyst", 3.0, 1e-6)
        whole_run(ledger, 1)
        whole_run(ledger, 2)
    return disk


def with_file(disk: SimulatedDisk, name: str, content: bytes | None) -> SimulatedDisk:
    changed = disk.copy()
    if content is None:
        del changed.tree[FOLDER / name]
    else:
        changed.tree[FOLDER / name].data = content
    return changed


def content(disk: SimulatedDisk, name: str = LEDGER) -> bytes:
    found = disk.read(FOLDER / name)
    assert found is not None
    return found


# --- crashes ----------------------------------------------------------------------------------------------------


class Story:
    """One run told step by step; `said` is what returned, and so must be there for ever after."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.said: list[str] = []
        self.entries = 0

    def tell(self) -> None:
        name = attempt(1)
        with open_ledger(self.disk) as ledger:
            self._note("open", ledger)
            ledger.set_budget("analyst", 3.0, 1e-6)
            self._note("budget", ledger)
            ledger.spend(name, spending(), ("program:1",), "all tables")
            self._note("spend", ledger)
            ledger.store(name, {"shares": b"share" * 20, "own tables": b"tables"})
            self._note("store", ledger)
            countersigned_by(ledger)
            self._note("countersigned", ledger)
            ledger.begin_exchange(name)
            self._note("exchange", ledger)
            ledger.seal(name, "d" * 64)
            self._note("seal", ledger)
            self.said.append("ending")
            ledger.end(name)
            self._note("end", ledger)

    def _note(self, what: str, ledger: Ledger) -> None:
        self.said.append(what)
        self.entries = ledger.head.count

    def check(self, disk: SimulatedDisk) -> None:
        """What must hold on whatever disk the next process finds; then the ledger can be used."""
        with open_ledger(disk) as ledger:
            state = ledger.state(attempt(1))
            assert self.entries <= ledger.head.count <= self.entries + 1
            history = ledger.history
            if "spend" in self.said:
                assert history.runs
            if "store" in self.said and "ending" not in self.said:
                assert ledger.stored(attempt(1)) == {"shares": b"share" * 20, "own tables": b"tables"}
            if "exchange" in self.said:
                assert state in (AttemptState.ALL_STORED, AttemptState.SEALED, AttemptState.CLOSED)
            if "end" in self.said:
                assert state is AttemptState.CLOSED
            if state is AttemptState.CLOSED and history.attempt(attempt(1)).closed:
                assert not [path for path in disk.tree if path.name.endswith(ENDING)]
            assert state is not AttemptState.LOST
            whole_run(ledger, 2, spending(agreement="c" * 64))
        assert read_history(FOLDER, disk).head.count > self.entries


def steps_of_the_story() -> int:
    disk = SimulatedDisk()
    Story(disk).tell()
    return disk.steps


@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
def test_killed_or_without_power_at_every_write(fraction: float):
    """Whole, half and no appends; six ways of what a disk may remember."""
    total = steps_of_the_story()
    assert total > 60
    for stop_at in range(1, total + 1):
        disk = SimulatedDisk()
        disk.stop_at, disk.fraction = stop_at, fraction
        story = Story(disk)
        with pytest.raises(Stopped):
            story.tell()
        for how in CRASHES:
            story.check(disk.after(how))


def test_killed_again_while_mending():
    for stop_at in range(1, steps_of_the_story() + 1, 3):
        disk = SimulatedDisk()
        disk.stop_at, disk.fraction = stop_at, 0.7
        story = Story(disk)
        with pytest.raises(Stopped):
            story.tell()
        for again in range(1, 30):
            second = disk.after("killed" if again % 2 else "half")
            second.stop_at = again
            try:
                open_ledger(second).close()
            except Stopped:
                story.check(second.after("killed" if again % 3 else "nothing"))
            else:
                break


def test_killed_then_opened_then_without_power():
    """What a killed process wrote was in memory only: whoever counts on it forces it to the disk first."""
    for stop_at in range(1, steps_of_the_story() + 1):
        disk = SimulatedDisk()
        disk.stop_at, disk.fraction = stop_at, 1.0
        story = Story(disk)
        with pytest.raises(Stopped):
            story.tell()
        found = disk.after("killed")
        open_ledger(found).close()
        story.check(found.after("nothing"))


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_a_full_disk_stops_the_run_and_leaves_the_ledger_sound(fraction: float):
    total = steps_of_the_story()
    for stop_at in range(1, total + 1):
        disk = SimulatedDisk()
        disk.stop_at, disk.fraction, disk.error = stop_at, fraction, OSError(28, "No space left on device")
        story = Story(disk)
        with pytest.raises(UserError) as caught:
            story.tell()
        assert caught.value.codes == ("E547",)
        story.check(disk.after("killed"))


def test_after_a_failed_append_nothing_is_appended():
    disk = SimulatedDisk()
    ledger = open_ledger(disk)
    disk.stop_at, disk.error = disk.steps + 2, OSError(5, "Input/output error")
    with pytest.raises(UserError):
        ledger.set_budget("analyst", 1.0, 1e-6)
    disk.stop_at = None
    with pytest.raises(AssertionError, match="open it again"):
        ledger.set_budget("analyst", 1.0, 1e-6)


def test_a_real_process_killed_while_it_appends(tmp_path):
    """SIGKILL in the middle of a loop of appends: every append that was reported is there."""
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom vertwin.ledger.ledger import Ledger\n"
        "with Ledger.open(Path(sys.argv[1]), 'town', 'clinic', os.urandom) as ledger:\n"
        "    while True:\n"
        "        ledger.set_budget('analyst', 1.0, 1e-6)\n"
        "        print(ledger.head.count, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    reported = 0
    for line in process.stdout:
        reported = int(line)
        if reported >= 20:
            break
    assert codes_of(lambda: open_ledger(SystemDisk(), folder=tmp_path)) == ("E543",)
    process.send_signal(signal.SIGKILL)
    reported = max([reported, *map(int, process.stdout.read().split())])
    process.stdout.close()
    process.wait()
    with open_ledger(SystemDisk(), folder=tmp_path) as ledger:
        assert ledger.head.count in (reported, reported + 1)


# --- loss, editing, rollback ------------------------------------------------------------------------------------


def test_truncated_at_every_byte_is_noticed(disk: SimulatedDisk):
    """Entry boundaries included: the mark says how many entries there were."""
    whole = content(disk)
    for size in range(len(whole)):
        assert codes_of(lambda size=size: open_ledger(with_file(disk, LEDGER, whole[:size]))) == ("E544",)


def test_an_append_that_did_not_return_may_be_cut_at_every_byte(disk: SimulatedDisk):
    """The mark is still that of the entry before: what is left of the last one is removed, never more."""
    whole, before = content(disk), content(disk, MARK)
    with open_ledger(disk) as ledger:
        count = ledger.head.count
        ledger.set_budget("insurer", 2.0, 1e-6)
    longer = content(disk)
    for size in range(len(whole), len(longer)):
        found = with_file(with_file(disk, MARK, before), LEDGER, longer[:size] + b"\0" * (size % 2))
        with open_ledger(found) as ledger:
            assert ledger.head.count == count
        assert content(found) == whole
    with open_ledger(with_file(disk, MARK, before)) as ledger:
        assert ledger.head.count == count + 1


@pytest.mark.parametrize(
    "tail", [b"x", b'{"body":{"count":99,"entry":{', b'{"body":{"count":16,"entry":{"\n}', b"\xff"]
)
def test_what_is_no_cut_off_entry_is_not_removed(disk: SimulatedDisk, tail: bytes):
    assert codes_of(lambda: open_ledger(with_file(disk, LEDGER, content(disk) + tail))) == ("E541",)


def test_any_changed_byte_is_noticed(disk: SimulatedDisk):
    whole = content(disk)
    lines, tail = read_lines(whole)
    assert tail == b"" and len(lines) > 10
    for i in range(len(whole)):
        for flip in (0x01, 0x20):
            changed = whole[:i] + bytes([whole[i] ^ flip]) + whole[i + 1 :]
            try:
                read, rest = read_lines(changed)
            except UserError as error:
                assert set(error.codes) <= {"E541", "E549"}
            else:
                assert len(read) < len(lines) and rest  # the last line's end: the mark notices that one
    last = whole[:-1] + b"\x0b"
    assert codes_of(lambda: open_ledger(with_file(disk, LEDGER, last))) == ("E544",)


def test_missing_doubled_and_exchanged_lines_are_noticed(disk: SimulatedDisk):
    lines = content(disk).splitlines(keepends=True)
    for changed in (
        lines[:3] + lines[4:],
        lines[:3] + lines[2:],
        [*lines[:3], lines[4], lines[3], *lines[5:]],
        lines[1:],
        [*lines, lines[-1]],
    ):
        found = codes_of(lambda changed=changed: open_ledger(with_file(disk, LEDGER, b"".join(changed))))
        assert found == ("E541",)


@pytest.mark.parametrize(
    ("name", "code"), [(LEDGER, "E544"), (MARK, "E544"), (SECRET, "E555")], ids=["ledger", "mark", "secret"]
)
def test_a_file_that_is_gone_is_noticed(disk: SimulatedDisk, name: str, code: str):
    assert codes_of(lambda: open_ledger(with_file(disk, name, None))) == (code,)


def test_a_damaged_mark_and_a_damaged_secret_are_noticed(disk: SimulatedDisk):
    for mark in (b"", b"{}", b"[]", b'{"count":"9","head":""}', content(disk, MARK).replace(b"count", b"c0unt")):
        assert codes_of(lambda mark=mark: open_ledger(with_file(disk, MARK, mark))) == ("E541",)
    other = content(disk, MARK)[:-10] + b"0" * 8 + content(disk, MARK)[-2:]
    assert set(codes_of(lambda: open_ledger(with_file(disk, MARK, other)))) <= {"E541"}
    assert codes_of(lambda: open_ledger(with_file(disk, SECRET, b"short"))) == ("E555",)


def test_an_old_mark_with_a_long_ledger_is_noticed():
    disk = SimulatedDisk()
    with open_ledger(disk) as ledger:
        old = content(disk, MARK)
        ledger.set_budget("analyst", 1.0, 1e-6)
        ledger.set_budget("analyst", 2.0, 1e-6)
    assert codes_of(lambda: open_ledger(with_file(disk, MARK, old))) == ("E541",)


def test_stored_shares_of_an_unknown_run_mean_a_lost_end():
    disk = SimulatedDisk()
    with open_ledger(disk) as ledger:
        before = {name: content(disk, name) for name in (LEDGER, MARK)}
        ledger.spend(attempt(7), spending(), ("program:1",), "tables")
        ledger.store(attempt(7), {"shares": b"s"})
    rolled_back = with_file(with_file(disk, LEDGER, before[LEDGER]), MARK, before[MARK])
    assert codes_of(lambda: open_ledger(rolled_back)) == ("E544",)


# --- whose, when, which version ---------------------------------------------------------------------------------


def test_a_ledger_of_another_data_set_or_party(disk: SimulatedDisk):
    assert codes_of(lambda: open_ledger(disk, "insurer")) == ("E542",)
    assert codes_of(lambda: Ledger.open(FOLDER, "city", "clinic", bytes, disk=disk)) == ("E542",)


def test_two_processes_cannot_have_it(disk: SimulatedDisk):
    with open_ledger(disk):
        assert codes_of(lambda: open_ledger(disk)) == ("E543",)
    open_ledger(disk).close()


def test_a_clock_that_goes_backwards_stops_before_anything_is_written():
    clock, disk = Clock(), SimulatedDisk()
    with open_ledger(disk, clock=clock) as ledger:
        ledger.set_budget("analyst", 1.0, 1e-6)
        clock.now -= CLOCK_TOLERANCE / 2
        ledger.set_budget("analyst", 2.0, 1e-6)  # a clock being set right: the entry bears the last one's time
        clock.now -= timedelta(days=1)
        before = content(disk)
        with pytest.raises(UserError) as caught:
            ledger.spend(attempt(1), spending(), (), "tables")
        assert caught.value.codes == ("E545",)
        assert content(disk) == before
        ledger.accept_clock()
        ledger.set_budget("analyst", 3.0, 1e-6)
    times = [line.time for line in read_lines(content(disk))[0]]
    assert times[1] == times[2] and times[3] < times[2] <= times[1]
    open_ledger(disk, clock=clock).close()


def test_a_newer_format_and_an_unknown_kind_of_entry_ask_for_a_newer_version(disk: SimulatedDisk, monkeypatch):
    from vertwin.ledger import chain, entries

    first = content(disk).splitlines()[0]
    with monkeypatch.context() as patch:
        patch.setattr(chain, "FORMAT", 2)
        assert codes_of(lambda: read_lines(first + b"\n")) == ("E549",)
    with monkeypatch.context() as patch:
        patch.setattr(chain, "KINDS", entries.KINDS - {"budget"})
        assert codes_of(lambda: read_lines(content(disk))) == ("E549",)


def test_files_are_for_their_owner_alone(tmp_path):
    folder = tmp_path / "state" / "data" / "town" / "clinic"
    with open_ledger(SystemDisk(), folder=folder) as ledger:
        ledger.spend(attempt(1), spending(), ("p:1",), "tables")
        ledger.store(attempt(1), {"shares": b"s"})
    for path in folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert folder.stat().st_mode & 0o077 == 0


def test_a_symbolic_link_is_not_followed(tmp_path):
    with open_ledger(SystemDisk(), folder=tmp_path / "a"):
        pass
    (tmp_path / "elsewhere").write_bytes((tmp_path / "a" / LEDGER).read_bytes())
    (tmp_path / "a" / LEDGER).unlink()
    (tmp_path / "a" / LEDGER).symlink_to(tmp_path / "elsewhere")
    assert codes_of(lambda: open_ledger(SystemDisk(), folder=tmp_path / "a")) == ("E547",)


def test_looking_needs_no_lock_and_mends_nothing(disk: SimulatedDisk):
    with open_ledger(disk) as ledger:
        assert read_history(FOLDER, disk).head == ledger.head
    cut = with_file(disk, LEDGER, content(disk) + b'{"body":{"cou')
    assert read_history(FOLDER, cut).head == read_history(FOLDER, disk).head
    assert content(cut).endswith(b"cou")
    assert codes_of(lambda: read_history(Path("/nowhere"), disk)) == ("E540",)


def test_nothing_is_said_of_what_is_inside(disk: SimulatedDisk):
    with open_ledger(disk) as ledger:
        assert repr(ledger) == f"Ledger(data set town, party clinic, {ledger.head.count} entries)"


# --- any order of appends, crashes and reopenings ---------------------------------------------------------------


class AppendCrashReopen(RuleBasedStateMachine):
    """The file against a list of what returned: nothing of it is ever lost, and at most one more is there."""

    @initialize()
    def begin(self) -> None:
        self.disk = SimulatedDisk()
        self.ledger: Ledger | None = open_ledger(self.disk)
        self.returned = [1.0]
        self.next = 1.0

    @rule()
    def append(self) -> None:
        if self.ledger is not None:
            self.next += 1
            self.ledger.set_budget("analyst", self.next, 1e-6)
            self.returned.append(self.next)

    @rule(steps=st.integers(1, 9), fraction=st.floats(0, 1), how=st.sampled_from(CRASHES))
    def crash(self, steps: int, fraction: float, how: str) -> None:
        self.disk.stop_at, self.disk.fraction = self.disk.steps + steps, fraction
        try:
            if self.ledger is None:
                self.ledger = open_ledger(self.disk)
                self._compare(self.ledger)
            while True:
                self.next += 1
                self.ledger.set_budget("analyst", self.next, 1e-6)
                self.returned.append(self.next)
        except Stopped:
            self.ledger, self.disk = None, self.disk.after(how)

    @rule()
    def reopen(self) -> None:
        if self.ledger is not None:
            self.ledger.close()
        self.ledger = open_ledger(self.disk)
        self._compare(self.ledger)

    def _compare(self, ledger: Ledger) -> None:
        seen = [1.0, *(budget.epsilon for budget in self.ledger.history.budgets)]
        assert seen[: len(self.returned)] == self.returned
        assert len(seen) <= len(self.returned) + 1
        self.returned = seen

    @invariant()
    def the_file_is_never_beyond_mending(self) -> None:
        copy = self.disk.copy()
        copy.stop_at = None
        open_ledger(copy).close()


TestAppendCrashReopen = AppendCrashReopen.TestCase
TestAppendCrashReopen.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


def test_the_lock_file_stays(disk: SimulatedDisk, tmp_path):
    with open_ledger(SystemDisk(), folder=tmp_path):
        pass
    assert (tmp_path / LOCK).exists()
