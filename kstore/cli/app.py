"""The `kstore` command: its global options, and the commands it has, each loaded when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kstore import __version__
from kstore.cli.options import RegistryPath

# In the order in which somebody meets them. A name that Python keeps for itself has its module with a `_` behind it.
COMMANDS = (
    "init",
    "add",
    "show",
    "resolve",
    "list_",
    "digest",
    "validate",
    "schema",
    "verify",
    "log",
    "audit",
    "import_",
    "export",
    "hook",
    "clone",
    "key",
    "trust",
    "sign",
    "attest",
    "retract",
    "supersede",
    "checkpoint",
)
_RUN_BY_GIT = ("receive", "textconv")

_SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}


class _Commands(TyperGroup):
    """Commands that are imported when they are asked for: what a call does not use, it does not pay for."""

    def list_commands(self, _context: object) -> list[str]:
        return [name.rstrip("_") for name in COMMANDS]

    def get_command(self, _context: object, cmd_name: str) -> Any:
        module = next((name for name in (*COMMANDS, *_RUN_BY_GIT) if name.rstrip("_") == cmd_name), None)
        if module is None:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(import_module(f"kstore.cli.{module}"), cmd_name)
        return self.commands[cmd_name]


def _load(module: Any, name: str) -> Any:
    """Make the command that a module has, or the group of those that it has in `COMMANDS`."""
    if hasattr(module, "command"):
        loaded = _typer()
        loaded.command(name)(module.command)
        return get_command(loaded)
    loaded = _typer(TyperGroup)
    loaded.callback(help=module.HELP)(lambda: None)
    for inner, function in module.COMMANDS.items():
        loaded.command(inner)(function)
    group = get_command(loaded)
    group.name = name
    return group


def _typer(group: type[TyperGroup] | None = None) -> typer.Typer:
    # Plain help and plain errors: drawing boxes would cost every call the time that it takes to import what draws them.
    return typer.Typer(
        cls=group,
        no_args_is_help=group is not None,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_SETTINGS,
    )


app = _typer(_Commands)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kstore {__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    registry: RegistryPath = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keep benchmark results as canonical JSON records, named by their SHA-256, in a plain git repository."""
    del version
    context.obj = registry
