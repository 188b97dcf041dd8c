"""What can go wrong: every failure of the C library is one of these, with its message, and file, line and byte where there are any."""
from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from typing import Any


class Request:
    """What a function that is told of events returns to ask for something: ``brim.STOP`` ends the work, as Ctrl-C does; of training
    ``brim.EVALUATE`` and ``brim.SAVE`` (or ``brim.EVALUATE | brim.SAVE``) evaluate and write a checkpoint after the step. Nothing else
    does, so that no function stops a run by what it happens to return."""

    __slots__ = ("flags",)
    flags: int

    def __init__(self, flags: int):
        self.flags = flags

    def __or__(self, other: "Request") -> "Request":
        return Request(self.flags | other.flags) if isinstance(other, Request) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self.flags == other.flags

    def __hash__(self) -> int:
        return hash(self.flags)

    def __repr__(self) -> str:
        return " | ".join(f"brim.{name}" for name, flag in _FLAGS.items() if self.flags & flag)

    def __reduce__(self) -> tuple[Any, ...]:
        return Request, (self.flags,)


_FLAGS = {"STOP": 1, "EVALUATE": 2, "SAVE": 4}  # as python/core/call.c reads them
STOP, EVALUATE, SAVE = (Request(flag) for flag in _FLAGS.values())


def _calm(text: str) -> str:
    """What would steer a terminal, or turn the direction of the text around it, is a question mark: names come from anywhere."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "?", text)


class Error(Exception):
    """A failure of brim.

    ``str(error)`` is one line: where (file, line, byte, as far as known), what is wrong and what to do.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None, byte: int | None = None):
        super().__init__(_calm(message))
        self.file = file
        self.line = line
        self.byte = byte

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.file, self.line, self.byte)


class UsageError(Error, ValueError):
    """An argument or option makes no sense."""


class CellError(UsageError, TypeError):
    """A value of a row is of a type, or a column of rows is, that has no place there."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class FileError(Error, OSError):
    """The system refused to open, read, write or rename."""


class NotFoundError(FileError, FileNotFoundError):
    """There is no such file or folder."""

    errno: int | None

    def __init__(self, message: str, file: str | None = None, line: int | None = None, byte: int | None = None):
        super().__init__(message, file, line, byte)
        self.errno = errno.ENOENT


class FormatError(Error, ValueError):
    """Input is malformed."""


class UnsupportedError(Error, NotImplementedError):
    """Input asks for something that brim does not have."""


class MismatchError(Error, ValueError):
    """Two inputs do not belong together: state and data, checkpoint and model, labels and head."""


class Cancelled(Error):
    """The call was asked to stop."""


class DivergedError(Error, ArithmeticError):
    """A loss or gradient became non-finite."""


class InternalError(Error, RuntimeError):
    """A bug in brim."""


_BY_CODE = {0: CellError, 2: UsageError, 3: OutOfMemory, 4: FileError, 5: FormatError, 6: UnsupportedError, 7: MismatchError, 8: Cancelled,
            9: DivergedError, 10: InternalError}


def _pythonic(message: str) -> str:
    """The library names options as the program has them: (--delimiter ';') is (delimiter=';') here. What follows the name of a program
    stays as it is."""
    if re.search(r"\b(brim|hf|mpirun|jq|pip|iconv|zstd) ", message):
        return message
    message = message.replace("--no-header (header=False in Python)", "header=False").replace("--labels A --labels B", 'labels=["A", "B"]')
    return _OPTION.sub(_option, message)


#: An option of the program with its value: in quotes, a number, a word in capitals in the place of one, one of quote's words, or what a sign follows.
_OPTION = re.compile(r"--([a-z][a-z-]*)(?: ('[^']*'|[0-9]+\b|[A-Z]+\b|csv\b|backslash\b|[^\s(),:;'-][^\s(),:;']*(?=[),:;]|$)))?( (?=--))?")


def _option(found: re.Match[str]) -> str:
    value, quoted = found[2], found[2] and (found[2][0] == "'" or found[2].isdecimal())
    said = f"={value}" if quoted else f'="{value}"' if value else ""
    return found[1].replace("-", "_") + said + (", " if found[3] else "")


def make(code: int, message: str, file: str, line: int, byte: int) -> Error:
    """The exception for a status of the C library (which calls this)."""
    kind = NotFoundError if code == 4 and re.search("[Nn]o such file", message) else _BY_CODE.get(code, InternalError)
    return kind(_pythonic(message), file or None, line or None, byte if byte >= 0 else None)


def end_child(error: BaseException | None) -> None:
    """Ends a forked child that comes back out of a function which a run called (the library calls this): the threads of the run are its parent's."""
    code = error.code if isinstance(error, SystemExit) else 1
    try:
        if not isinstance(error, SystemExit):
            if error is not None:
                traceback.print_exception(error)
            print("a forked child cannot continue a run, and ends: call os._exit(0) where its own work is done", file=sys.stderr)
        elif not isinstance(code, int | None):
            print(code, file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit((code or 0) & 0xff if isinstance(code, int | None) else 1)
