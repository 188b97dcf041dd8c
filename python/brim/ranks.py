"""The processes of an MPI launcher: ``mpirun -n 4 python train.py``."""
from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any, Callable

from . import _core
from .errors import UsageError

_lock = threading.Lock()
_joined: tuple[int, int] | None = None
_reason: str | None = None


def said(name: str, kind: Callable[[str], Any]) -> Any:
    """A number of the environment; 0 where there is none."""
    value = os.environ.get(name)
    try:
        return kind(value) if value else 0
    except ValueError:
        raise UsageError(f"{name}={value!r:.60} in the environment: a number is needed") from None


def launched() -> bool:
    """Whether a launcher has started several processes, of which this is one. BRIM_MPI=none in the environment: it has not."""
    return _core.ranks_launched()


def threads() -> int:
    """Threads for this process where BRIM_THREADS does not say; 0: all cores that it may use. Processes that a launcher has put on the
    same cores share them."""
    local = next((os.environ[name] for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE") if name in os.environ), "1")
    cores = len(os.sched_getaffinity(0))
    if not launched() or not local.isdigit() or cores < (os.cpu_count() or 1):
        return 0
    return max(1, cores // int(local))


def join() -> tuple[int, int]:
    """(rank, number of ranks), after all have met; (0, 1) without a launcher. Every rank calls it. The environment's BRIM_RANK_TIMEOUT has
    the seconds after which a silent rank counts as lost (20)."""
    global _joined
    with _lock:
        if _joined is None:
            _joined = _core.ranks_join(said("BRIM_RANK_TIMEOUT", float)) if launched() else (0, 1)
            if _joined[1] > 1:
                _watch()
    return _joined


def _watch() -> None:
    """The others learn of an exception that ends this process, and all end together."""
    before = sys.excepthook

    def hook(kind, error, trace):
        global _reason
        _reason = f"{kind.__name__}: {error}"
        before(kind, error, trace)

    sys.excepthook = hook
    atexit.register(_end)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # there is none, nobody reads it, it is closed
            pass


def _end() -> None:
    _flush()  # where MPI does not come to its end, the process ends at once
    if not _core.ranks_end(_reason):
        _flush()
        os._exit(1)
