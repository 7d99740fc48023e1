"""The command line. It has no logic of its own, and imports what is heavy only when a command needs it."""

import sys
import traceback
import warnings
from errno import EMFILE, ENFILE
from typing import Annotated

import typer

from memec.cli import options
from memec.cli.options import say
from memec.cli.pages import list_, report, watch
from memec.cli.studies import compare, reproduce, tune
from memec.cli.training import evaluate, train, verify
from memec.errors import MemecError
from memec.onlookers import let_go_of_output, open_missing_output

app = typer.Typer(
    name="memec",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Episodic control for Gymnasium: agents that remember what paid off and learn from a few thousand steps.",
    epilog="Try: [bold]memec train memec/FourRoom-v0 --steps 20000[/bold]",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from memec import __version__

        typer.echo(f"memec {__version__}")
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Take the options that belong to no command."""


for command in (train, evaluate, compare, tune, reproduce, report, watch, verify):
    app.command()(command)
app.command(name="list")(list_)


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    open_missing_output()
    warnings.showwarning = lambda message, *_, **__: say(str(message))
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        say(error.format_message())
        sys.exit(2)
    except MemecError as error:
        if options.tracebacks_wanted:
            traceback.print_exception(error)
        say(str(error))
        sys.exit(2)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):
            say("Too many files are open: raise the limit, such as by ulimit -n 1024, or close what is not needed.")
        else:  # such as a full disk that a result was to be written to
            say(f"The system refuses: {' '.join(str(part) for part in (error.strerror, error.filename) if part)}.")
        sys.exit(2)
    except MemoryError:
        say("There is not enough memory: let memec have more, or let it need less, such as by --set memory.capacity=N.")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    finally:
        let_go_of_output()
    sys.exit(status)
