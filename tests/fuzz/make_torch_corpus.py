#!/usr/bin/env python3
"""Write corpus/model_torch: archives as torch.save writes them, and some that lie.

    make_torch_corpus.py corpus/model_torch
"""
import collections, os, sys, zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from torch_file import Storage, Tensor, save  # noqa: E402

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
four = Storage("F32", [1, 2, 3, 4])


def write(name, tensors, **how):
    save(os.path.join(out, name), collections.OrderedDict(tensors), **how)


write("views", {"a": Tensor(four, (2, 2), (2, 1)), "b": Tensor(four, (2, 2), (1, 2)), "c": Tensor(four, (), (), 3)})
write("protocol4", {"a": Tensor(four, (4,), (1,)), "b": Tensor(Storage("BF16", [1, 2]), (2,), (1,))}, protocol=4)
write("gigabyte", {"a": Tensor(four, (1 << 14, 1 << 14), (1 << 14, 1))})
write("spread", {"a": Tensor(four, (1 << 40, 1 << 20), (0, 0))})
write("overflow", {"a": Tensor(four, (1 << 40, 1 << 40), (1, 1))})
write("far", {"a": Tensor(four, (2, 2), (1 << 62, 1 << 62))})
write("negative", {"a": Tensor(four, (2,), (1,), -1)})
write("number", {"a": 3})
write("empty", {})
with zipfile.ZipFile(os.path.join(out, "large"), "w") as archive:
    with archive.open("large/data.pkl", "w", force_zip64=True) as entry:
        entry.write(b"\x80\x02}.")
with zipfile.ZipFile(os.path.join(out, "packed"), "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("packed/data.pkl", b"\x80\x02}" + b"N" * 100)
with zipfile.ZipFile(os.path.join(out, "other"), "w") as archive:
    archive.writestr("hello.txt", "hello")
