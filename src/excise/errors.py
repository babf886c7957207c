"""The one family of errors that excise raises on purpose. Each message is a sentence for the person who meets it."""

from __future__ import annotations


class ExciseError(Exception):
    """Anything that excise refuses. The command line prints its message and exits with code 2."""


class InvalidInput(ExciseError, ValueError):
    """A value that cannot be used: an empty query, a negative k, evidence that is not a number."""


class BadCorpus(ExciseError, ValueError):
    """A corpus that cannot be read; the message names the file and the line."""


class BackboneError(ExciseError):
    """An encoder that cannot be loaded, or that does not fit the index."""


class BadIndex(ExciseError):
    """An index folder that is missing, damaged, foreign, or cannot be written."""


class MissingExtra(ExciseError, ImportError):
    """A package that only some of excise needs, and that is not installed; the message names the extra."""


class ServiceError(ExciseError):
    """A service that cannot be reached, refuses, or fails; raised by the client."""


class SuiteError(ExciseError, ValueError):
    """A suite or a file of pairs that cannot be used; the message names the file, and the line where there is one."""
