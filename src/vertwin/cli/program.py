"""Which commands there are, and how a command ends: 0 done, 2 the input, 3 the machine or a peer, 130 interrupted."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer

from vertwin.cli import check, demo, identity, init, ledger, marginals, plan, rehearse, run, sample, screen, verify
from vertwin.errors import UserError, user_error
from vertwin.version import VERSION

INTERRUPTED = 130

# What the command-line library raises for a command it does not understand: ClickException, which some versions of
# typer carry with them and others import. BadParameter is a UsageError is a ClickException, in all of them.
NotUnderstood: type[Exception] = typer.BadParameter.__bases__[0].__bases__[0]

app = typer.Typer(
    name="vertwin",
    help="One differentially private synthetic table from organisations that hold different columns.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    demo.demo,
    init.init,
    check.check,
    plan.plan,
    identity.identity,
    run.run,
    rehearse.rehearse,
    verify.verify,
    sample.sample,
    marginals.marginals,
):
    app.command()(command)
app.add_typer(ledger.app)


def _version(wanted: bool) -> None:
    if wanted:
        screen.say(f"vertwin {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Nothing but this function decides it."""
    try:
        status = app(args=None if arguments is None else list(arguments), prog_name="vertwin", standalone_mode=False)
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except UserError as error:
        screen.complain(error)
        return error.exit_status
    except NotUnderstood as error:
        return _not_understood(error)
    except (KeyboardInterrupt, typer.Abort):
        screen.note("interrupted: every process of this command has ended; what a ledger had counted stays counted")
        return INTERRUPTED
    except OSError as error:
        screen.complain(user_error("E309", f"the system refused: {error.strerror or type(error).__name__}"))
        return 3
    except Exception as error:  # our own bug: its text might hold a value, so only its kind is said
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        screen.complain(
            user_error("E499", f"vertwin stopped at a fault of its own ({place}); nothing more is said of it")
        )
        return 3
    finally:
        sys.stdout.flush()


def _not_understood(error: Exception) -> int:
    message: str = error.format_message()  # type: ignore[attr-defined]
    if message.startswith("Usage:"):  # no command was given at all: help is the answer
        screen.say(message)
        return 2
    context = getattr(error, "ctx", None)
    command = "vertwin" if context is None else str(context.command_path)
    screen.complain(user_error("E720", message, f"{command} --help"))
    return 2
