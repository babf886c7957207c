"""The command line: one file a group of commands. What takes long to import waits until a command needs it."""

from excise.cli.app import main

__all__ = ["main"]
