"""The command line: one file a group of commands."""

from excise.cli.app import main

__all__ = ["main"]
