"""Reads a GGUF v3 file: keys, F32 and I32 tensors, and others by decoders that the caller brings. Trusts the file."""
import struct

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TENSOR_TYPES = {0: np.float32, 26: np.int32}


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def string(self):
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            element, count = self.take("I"), self.take("Q")
            return [self.value(element) for _ in range(count)]
        return self.take(SCALARS[kind])


def read(path, decoders=None):
    """(keys, tensors); a tensor's numpy shape is GGUF's ne reversed. decoders: {type: (weights a block, bytes a block, function of
    uint8 [blocks, bytes] that gives float32 [blocks, weights])}"""
    with open(path, "rb") as file:
        data = file.read()
    cursor = Cursor(data)
    assert data[:4] == b"GGUF"
    cursor.at = 4
    assert cursor.take("I") == 3
    tensor_count, key_count = cursor.take("Q"), cursor.take("Q")
    keys = {}
    for _ in range(key_count):
        name = cursor.string()
        keys[name] = cursor.value(cursor.take("I"))
    entries = []
    for _ in range(tensor_count):
        name = cursor.string()
        shape = [cursor.take("Q") for _ in range(cursor.take("I"))]
        entries.append((name, shape, cursor.take("I"), cursor.take("Q")))
    alignment = keys.get("general.alignment", 32)
    start = (cursor.at + alignment - 1) // alignment * alignment
    tensors = {}
    for name, shape, kind, offset in entries:
        count = int(np.prod(shape))
        if kind in TENSOR_TYPES:
            flat = np.frombuffer(data, TENSOR_TYPES[kind], count, start + offset)
        else:
            weights, size, decode = decoders[kind]
            blocks = np.frombuffer(data, np.uint8, count // weights * size, start + offset).reshape(-1, size)
            flat = decode(blocks).astype(np.float32)
        tensors[name] = flat.reshape([int(n) for n in reversed(shape)])
    return keys, tensors
