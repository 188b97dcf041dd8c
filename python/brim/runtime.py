"""Threads. Everything runs on one runtime a process unless another is given."""
from __future__ import annotations

import atexit
import threading

from . import _core, ranks
from .options import MOST, whole

_lock = threading.Lock()
_default: _core.Runtime | None = None


def Runtime(threads: int = 0, cpu: str | None = None) -> _core.Runtime:
    """Threads that compute, and their CPU level.

    threads: 0 takes all cores this process may use. cpu: "plain", "avx2", "avx512", "amx" or None (the best there is).
    """
    if cpu is not None and not isinstance(cpu, str):
        raise TypeError(f"cpu: a str is needed, not {cpu!r:.60}")
    return _core.runtime(whole("threads", threads, most=MOST), cpu)


def default() -> _core.Runtime:
    """The runtime of this process, made when first needed; the environment's BRIM_THREADS says how many threads it has."""
    global _default
    with _lock:
        if _default is None:
            _default = Runtime(ranks.said("BRIM_THREADS", int) or ranks.threads())
        return _default


def of_cpu(cpu: str | None):
    """The runtime of this process, or one that uses other instructions."""
    return default() if cpu is None else Runtime(ranks.said("BRIM_THREADS", int) or ranks.threads(), cpu)


#: Set when the interpreter ends: what still runs is to stop.
ending = threading.Event()


def _end() -> None:
    """Threads that still compute when the interpreter ends would call into what is gone: they are stopped before, and waited for."""
    ending.set()
    _core.end_calls()


atexit.register(_end)


def set_threads(threads: int) -> None:
    """Threads of what is made from now on. Results never depend on it."""
    global _default
    with _lock:
        _default = Runtime(threads)
