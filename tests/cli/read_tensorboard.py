"""Reads TensorBoard's event files with nothing but the standard library: records, checksums, messages, and what a restart takes back.

  read_tensorboard.py FOLDER            every scalar as one line: tag step value
  read_tensorboard.py FOLDER --package  the same through the `tensorboard` package, for comparison"""

import pathlib
import struct
import sys


def crc32c_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


TABLE = [crc32c_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack("<Q", head)
        body = data[at + 12:at + 12 + length]
        sums = struct.unpack("<I", data[at + 8:at + 12]) + struct.unpack("<I", data[at + 12 + length:at + 16 + length])
        assert sums == (masked(head), masked(body)), f"{path}: a checksum is wrong at byte {at}"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: integers as they are, all else as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def scalars(folder):
    """tag -> {step: value}"""
    found = {}
    for path in sorted(pathlib.Path(folder).iterdir()):
        for number, body in enumerate(records(path)):
            event = dict(fields(body))
            if number == 0:
                assert event[3] == b"brain.Event:2" and struct.unpack("<d", event[1])[0] > 1e9, "the first record names the version"
            step = event.get(2, 0)
            if 7 in event:  # a restart: what was said of this step and later ones is void
                for values in found.values():
                    for late in [s for s in values if s >= step]:
                        del values[late]
            for _, value in (pair for pair in fields(event.get(5, b"")) if pair[0] == 1):
                parts = dict(fields(value))
                found.setdefault(parts[1].decode(), {})[step] = struct.unpack("<f", parts[2])[0]
    return found


def scalars_by_package(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    found = {}
    for tag in reader.Tags()["scalars"]:
        found[tag] = {event.step: event.value for event in reader.Scalars(tag)}
    for tag in reader.Tags()["tensors"]:
        from tensorboard.util import tensor_util
        found[tag] = {event.step: float(tensor_util.make_ndarray(event.tensor_proto)) for event in reader.Tensors(tag)}
    return found


def main():
    found = (scalars_by_package if "--package" in sys.argv[2:] else scalars)(sys.argv[1])
    for tag in sorted(found):
        for step in sorted(found[tag]):
            print(tag, step, repr(found[tag][step]))


if __name__ == "__main__":
    main()
