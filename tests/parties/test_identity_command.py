"""vertwin identity: what it prints goes to the peers, what it makes stays."""

from __future__ import annotations

import pytest
import typer

from vertwin.cli.identity import identity
from vertwin.errors import UserError
from vertwin.parties import PublicIdentity, State
from vertwin.parties import identity as identities


@pytest.fixture
def run(tmp_path, capsys):
    def command(*arguments):
        app = typer.Typer()
        app.command()(identity)
        app([*arguments, "--state", str(tmp_path / "state")], standalone_mode=False)
        return capsys.readouterr().out.splitlines()

    return command


def test_keys_are_made_once_and_shown_again(run, tmp_path):
    first = run("clinic")
    assert run("clinic") == first
    mine = identities.load("clinic", State(tmp_path / "state").identity("clinic"))
    assert first == [f'key = "{mine.fingerprint}"', str(mine.public_file)]
    assert PublicIdentity.read(mine.public_file).name == "clinic"
    assert run("clinic", "--force") != first


def test_a_name_that_no_agreement_could_have(run):
    with pytest.raises(UserError) as caught:
        run("../clinic")
    assert caught.value.codes == ("E109",)
