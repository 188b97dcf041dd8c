"""Where a model computes, and where CUDA's libraries are when they came with pip."""
from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

from . import _core, runtime as _runtime

#: The variable that names a library, and where wheels have it, below a folder of packages.
_LIBRARIES = {"BRIM_NVRTC": ("nvidia/cu1?/lib/libnvrtc.so.1?", "nvidia/cuda_nvrtc/lib/libnvrtc.so.1?"),
              "BRIM_CUBLASLT": ("nvidia/cu1?/lib/libcublasLt.so.1?", "nvidia/cublas/lib/libcublasLt.so.1?")}


def checked(device: str) -> tuple[str, int]:
    """The device by brim's name: "cpu", or "cuda" (also "cuda:1", "gpu", or torch.device("cuda")); and which card, from 1 on, or 0."""
    name, _, number = str(device).partition(":")
    name = {"gpu": "cuda"}.get(name, name)
    if name not in ("cpu", "cuda") or (number and not number.isdecimal()) or (name == "cpu" and number not in ("", "0")):
        raise ValueError(f'device is "cpu", "cuda" or "cuda:N", not {str(device)!r}')
    if name == "cuda":
        _find_libraries()
    return name, int(number) + 1 if number and name == "cuda" else 0


def _find_libraries() -> None:
    """Says to the library where the wheels of this interpreter are: it looks into active environments only."""
    for variable, patterns in _LIBRARIES.items():
        if os.environ.get(variable):
            continue
        for folder in filter(None, sys.path):
            found = sorted(path for pattern in patterns for path in pathlib.Path(folder).glob(pattern))
            if found:
                os.environ[variable] = str(found[-1])
                break


def to(value: Any, device: str) -> Any:
    """A copy of an Array on the device: "cpu", "cuda" or "cuda:1"; of a dict of arrays a dict. What is no Array stays as it is.

    ``torch.from_dlpack`` and ``cupy.from_dlpack`` take an array on a GPU where it is, and keep its memory for as long as they need it:
    ``torch.from_dlpack(brim.to(model.logits(texts), "cuda"))``. The copy is there when the call returns, for every stream."""
    name, card = checked(device)
    if isinstance(value, dict):
        return {key: to(item, device) for key, item in value.items()}
    return _core.copied(_runtime.default(), value, card if name == "cuda" else -1) if isinstance(value, _core.Array) else value
