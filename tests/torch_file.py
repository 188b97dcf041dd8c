#!/usr/bin/env python3
"""Write pytorch_model.bin as torch.save does, with the standard library alone.

    torch_file.py MODEL OUT [--shards N] [--dtype F32|F16|BF16|F64] [--turned]

MODEL holds config.json and model.safetensors (F32); OUT gets everything of MODEL but the weights, which become pytorch_model.bin, or
N shards and pytorch_model.bin.index.json. --turned stores matrices column by column, as views with strides.
"""
import argparse, array, collections, io, json, os, pickle, shutil, struct, sys, types, zipfile

STORAGES = {"F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "F64": "DoubleStorage"}


def named(module, name, value):
    """What pickle finds and writes as module.name."""
    value.__module__, value.__qualname__, value.__name__ = module, name, name
    setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, value)
    return value


named("torch", "nothing", lambda: None)
rebuild = named("torch._utils", "_rebuild_tensor_v2", lambda *arguments: None)
storage_types = {dtype: named("torch", name, type(name, (), {})) for dtype, name in STORAGES.items()}


class Storage:
    def __init__(self, dtype, values):
        self.dtype, self.count, self.bytes = dtype, len(values), pack(dtype, values)


class Tensor:
    def __init__(self, storage, shape, stride, offset=0):
        self.storage, self.shape, self.stride, self.offset = storage, shape, stride, offset

    def __reduce__(self):
        return rebuild, (self.storage, self.offset, self.shape, self.stride, False, collections.OrderedDict())


def pack(dtype, values):
    if dtype == "BF16":
        words = array.array("I", array.array("f", values).tobytes())
        return array.array("H", ((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words)).tobytes()
    return struct.pack("<%d%s" % (len(values), {"F32": "f", "F16": "e", "F64": "d"}[dtype]), *values)


def save(path, tensors, protocol=2):
    storages = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            if value not in storages:
                storages.append(value)
            return "storage", storage_types[value.dtype], str(storages.index(value)), "cpu", value.count

    data = io.BytesIO()
    Pickler(data, protocol=protocol).dump(tensors)
    name = os.path.splitext(os.path.basename(path))[0]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name + "/data.pkl", data.getvalue())
        archive.writestr(name + "/byteorder", "little")
        for i, storage in enumerate(storages):
            archive.writestr("%s/data/%d" % (name, i), storage.bytes)
        archive.writestr(name + "/version", "3\n")


def read(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header, data = json.loads(f.read(size)), f.read()
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            yield name, tuple(t["shape"]), array.array("f", data[begin:end])


def tensor(values, shape, dtype, turned):
    if turned and len(shape) == 2:
        rows, columns = shape
        values = [values[r * columns + c] for c in range(columns) for r in range(rows)]
        return Tensor(Storage(dtype, values), shape, (1, rows))
    stride = tuple(shape[1:]) + (1,) if len(shape) == 2 else (1,) * len(shape)
    return Tensor(Storage(dtype, list(values)), shape, stride)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--dtype", default="F32", choices=STORAGES)
    parser.add_argument("--turned", action="store_true")
    o = parser.parse_args()
    os.makedirs(o.out, exist_ok=True)
    for entry in os.listdir(o.model):
        if not entry.startswith("model.safetensors") and os.path.isfile(os.path.join(o.model, entry)):
            shutil.copy(os.path.join(o.model, entry), o.out)
    parts, names = [collections.OrderedDict() for _ in range(o.shards)], {}
    for i, (name, shape, values) in enumerate(read(os.path.join(o.model, "model.safetensors"))):
        parts[i % o.shards][name] = tensor(values, shape, o.dtype, o.turned)
        names[name] = "pytorch_model-%05d-of-%05d.bin" % (i % o.shards + 1, o.shards)
    if o.shards == 1:
        return save(os.path.join(o.out, "pytorch_model.bin"), parts[0])
    for i, part in enumerate(parts):
        save(os.path.join(o.out, "pytorch_model-%05d-of-%05d.bin" % (i + 1, o.shards)), part)
    with open(os.path.join(o.out, "pytorch_model.bin.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": names}, f)


if __name__ == "__main__":
    main()
