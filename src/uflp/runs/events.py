"""Scalars for TensorBoard, written without it.

An events file is a list of records (TFRecord): length, checksum of the length, data, checksum of
the data. The data is an `Event` message of protocol buffers, of which only these fields are used:

    Event:   wall_time = 1 (double), step = 2 (int64), file_version = 3 (string), summary = 5
    Summary: value = 1, repeated;   Value: tag = 1 (string), simple_value = 2 (float)
"""

from __future__ import annotations

import functools
import math
import struct
import time
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from uflp import files


class EventFile:
    """The events of one run, in a file of its own beside earlier ones."""

    def __init__(self, folder: Path):
        # TensorBoard takes every file with this in its name, in the order of the numbers.
        self._path = folder / f"events.out.tfevents.{time.time_ns() // 1_000_000}.uflp"
        self._begun = False

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row of metrics at its queries; what is not a finite number is left out."""
        if not self._begun:
            self._write(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))
            self._begun = True
        scalars = {
            key: float(value)
            for key, value in row.items()
            if key != "queries" and isinstance(value, Real) and math.isfinite(value)
        }
        values = [
            _bytes(1, _bytes(1, key.encode()) + _float(2, value)) for key, value in scalars.items()
        ]
        self._write(
            _double(1, time.time()) + _integer(2, row["queries"]) + _bytes(5, b"".join(values))
        )

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        with files.append(self._path) as file:
            file.write(length + _checksum(length) + event + _checksum(event))


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    # Beyond the range of a float there is infinity, which struct refuses to make.
    largest = 3.4028234663852886e38
    return _varint(field << 3 | 5) + struct.pack("<f", max(-largest, min(value, largest)))


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Return seven bits to a byte, lowest first, all but the last byte marked."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _checksum(data: bytes) -> bytes:
    """Return the CRC-32C (Castagnoli) of the data, masked as TFRecord wants it."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@functools.cache
def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1 for crc in table]
    return table
