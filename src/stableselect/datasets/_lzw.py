"""Decoder of the ``.Z`` files of the Unix program ``compress`` (LZW), which the standard library cannot read."""

from __future__ import annotations

from ._registry import DatasetError

_MAGIC = b"\x1f\x9d"
_CLEAR = 256
_FIRST_BITS = 9


def decompress(data: bytes, limit: int) -> bytes:
    """Return the content of a ``.Z`` file, at most ``limit`` bytes.

    Codes start 9 bits wide and widen when the table is full, up to the width in the header. They are packed in groups
    of eight, least significant bit first; what is left of a group is skipped when the width changes.

    References
    ----------
    Welch (1984), A technique for high-performance data compression, Computer 17(6).
    """
    if len(data) < 3 or data[:2] != _MAGIC:
        raise DatasetError("not a .Z file: it does not start with the bytes 1f 9d")
    block_mode, max_bits = bool(data[2] & 0x80), data[2] & 0x1F
    # Programs disagree on files limited to 9 bits.
    if not _FIRST_BITS < max_bits <= 16:
        raise DatasetError(f"a .Z file with codes of up to {max_bits} bits; 10 to 16 are expected")
    first_free = _CLEAR + 1 if block_mode else _CLEAR
    table = [bytes([value]) for value in range(256)] + [b""] * (first_free - 256)
    pieces: list[bytes] = []
    size, previous = 0, b""
    bits, position, group_start = _FIRST_BITS, 24, 24
    end = 8 * len(data)
    while True:
        if len(table) >= 1 << bits and bits < max_bits:
            position = group_start = _next_group(position, group_start, bits)
            bits += 1
        if position + bits > end:
            break
        byte, shift = divmod(position, 8)
        code = (int.from_bytes(data[byte : byte + 4], "little") >> shift) & ((1 << bits) - 1)
        position += bits
        if block_mode and code == _CLEAR:
            position = group_start = _next_group(position, group_start, bits)
            del table[first_free:]
            bits, previous = _FIRST_BITS, b""
            continue
        if code < len(table):
            piece = table[code]
        elif code == len(table) and previous:
            piece = previous + previous[:1]
        else:
            raise DatasetError("a damaged .Z file: a code refers to what has not been seen")
        if previous and len(table) < 1 << max_bits:
            table.append(previous + piece[:1])
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise DatasetError(f"a .Z file that holds more than the {limit} bytes expected")
        previous = piece
    return b"".join(pieces)


def _next_group(position: int, start: int, bits: int) -> int:
    """Return where the next group of eight codes begins."""
    group = 8 * bits
    return start + -(-(position - start) // group) * group
