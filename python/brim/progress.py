"""A line that says how far long work has come: tqdm's where tqdm is there, else brim's own."""
from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Callable, Iterator

_DELAY = 1.0  # seconds before predictions show a line
_EVERY = 0.1  # seconds between two states of brim's own line


def wanted(progress: Any) -> bool:
    """None: in notebooks and terminals."""
    if (progress is not None and not progress) or not (_notebook() or _heard()):
        return False
    return bool(progress) or _notebook() or sys.stderr.isatty()


def _heard() -> bool:
    """Standard error is there, and open: a service may have neither."""
    return sys.stderr is not None and not getattr(sys.stderr, "closed", False)


def _notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _Line:
    """The little of tqdm that is used, on standard error."""

    def __init__(self, total: int, desc: str, unit: str, delay: float):
        self.total, self.desc, self.unit, self.n = total, desc, unit, 0
        self._begin, self._delay, self._shown, self._last, self._note = time.monotonic(), delay, 0, 0.0, ""

    def set_postfix_str(self, note: str, refresh: bool = False) -> None:
        self._note = note

    def update(self, more: int) -> None:
        self.n += more
        now = time.monotonic()
        if now - self._begin < self._delay or (now - self._last < _EVERY and self.n < self.total):
            return
        self._last, spent = now, now - self._begin
        left = spent / self.n * (self.total - self.n) if self.n else 0
        text = f"{self.desc}: {self.n:,} of {self.total:,} {self.unit}s, {_clock(spent)} passed, {_clock(left)} left" + (f", {self._note}" if self._note else "")
        print("\r" + text.ljust(self._shown), end="", file=sys.stderr, flush=True)
        self._shown = len(text)

    def write(self, text: str) -> None:
        self.clear()
        print(text, file=sys.stderr)

    def clear(self) -> None:
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
            self._shown = 0

    def close(self) -> None:
        if self._shown:
            print(file=sys.stderr, flush=True)
            self._shown = 0


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _line(total: int, desc: str, unit: str, delay: float = 0.0):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(total, desc, unit, delay)
    return tqdm(total=total, desc=desc, unit=unit, delay=delay, file=None if _notebook() else sys.stderr)


class Bar:
    """Shows the events of one piece of work after another: a line for each phase, and one for each evaluation."""

    def __init__(self, *, delay: float = 0.0, keep: bool = True):
        self._phase: str | None = None
        self._bar: Any = None
        self._delay, self._keep, self._numbers = delay, keep, {}

    def __call__(self, kind: str, fields: dict[str, Any]) -> None:
        try:
            self._show(kind, fields)
        except (OSError, ValueError):  # nobody reads standard error any more: the work continues
            self._bar = None

    def _show(self, kind: str, fields: dict[str, Any]) -> None:
        if kind == "progress" and fields.get("total"):
            self._move(fields)
        elif kind == "eval":
            self._say(f"step {fields['step']}, {fields['name']}: {numbers(fields)}")

    def _move(self, fields) -> None:
        phase, done, total = fields["phase"], fields["done"], fields["total"]
        if phase == "evaluate" and self._phase == "train":  # within a training, whose line stays
            return
        if phase != self._phase or self._bar is None or done < self._bar.n:
            self.close()
            self._phase, self._bar = phase, _line(total, phase, "step" if phase == "train" else "row" if phase != "encode" else "byte", self._delay)
        if fields.get("loss") is not None and fields["loss"] == fields["loss"]:
            self._bar.set_postfix_str(f"loss {fields['loss']:.4f}", refresh=False)
        self._bar.update(done - self._bar.n)

    def _say(self, text: str) -> None:
        if self._bar is not None and hasattr(self._bar, "write"):
            self._bar.write(text) if isinstance(self._bar, _Line) else self._bar.write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.close()
        self._bar = None


def numbers(fields: dict[str, Any]) -> str:
    """loss 0.3121, accuracy 0.9000"""
    return ", ".join(f"{name} {value:.4f}" for name, value in fields.items()
                     if isinstance(value, float) and value == value and name not in ("seconds", "epoch"))


@contextlib.contextmanager
def shown(progress: Any) -> Iterator[Callable[[str, dict], Any] | None]:
    """A function for events while predictions are computed: the caller's, or a line that appears when it takes long."""
    if callable(progress):
        yield progress
        return
    bar = Bar(delay=0.0 if progress else _DELAY) if wanted(progress) else None
    try:
        yield bar
    finally:
        if bar:
            bar.close()
