"""Arrays as `.npy` members, without a parser: what an array must look like is known before its bytes are looked at.

A reader that believes a header allocates what the header says, and NumPy's own format can carry pickled objects,
that is, code. Here the header that the agreement and release.json call for is built, and the member has to begin
with exactly those bytes and go on for exactly as long as the shape needs.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from vertwin.errors import user_error

DType = Literal["<i8", "<f8"]
Array = npt.NDArray[Any]
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNMENT: Final = 64


def to_bytes(array: Array, dtype: DType) -> bytes:
    """The array as version 1.0 of the `.npy` format, little-endian, in C order."""
    exact = np.ascontiguousarray(array, dtype=np.dtype(dtype))
    return _header(dtype, exact.shape) + exact.tobytes()


def from_bytes(data: memoryview, dtype: DType, shape: tuple[int, ...], place: str) -> Array:
    """The array in `data`, read-only; refused unless it is exactly of this type and shape."""
    header = _header(dtype, shape)
    if len(data) != len(header) + math.prod(shape) * 8 or bytes(data[: len(header)]) != header:
        wanted = " x ".join(str(length) for length in shape)
        kind = "integers" if dtype == "<i8" else "floats"
        raise user_error("E504", f"should be an array of {wanted} 64-bit {kind}, and is not", place=place)
    array = np.frombuffer(bytes(data[len(header) :]), dtype=np.dtype(dtype)).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _header(dtype: DType, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    length = len(_MAGIC) + 2 + len(text) + 1
    text += " " * (-length % _ALIGNMENT) + "\n"
    return _MAGIC + struct.pack("<H", len(text)) + text.encode("ascii")
