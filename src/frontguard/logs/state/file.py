"""Named arrays and a few words about them in one file, which is whole or not there.

The file: 32 bytes of head (what it is, version of the format), the arrays, each beginning at a multiple of 64 bytes, a
description in JSON, 32 bytes that say where the description is. Every byte is covered by a checksum, and all of it is
checked when it is opened. Numbers are little-endian. Large files are mapped into memory and not copied.

It is written beside its place and moved there when it is on the disk: a crash leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import glob
import json
import math
import mmap
import os
import secrets
import shutil
import socket
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from frontguard._common.private import private
from frontguard.errors import BadInput
from frontguard.phrases import error_line, shown

AnyArray = npt.NDArray[Any]

VERSION = 1
"""Of the format that is written. Older ones are read, newer ones refused."""

MAPPED_FROM = 32 * 2**20
"""Bytes from which a file is mapped into memory when it is read."""

MARK = b"FRONTGUARD LOG\r\n"  # the line end shows a file that was carried as text
_HEAD = struct.Struct("<16sI12x")
_TAIL = struct.Struct("<QQI12s")
_END = b"END OF STATE"
_ALIGNED = 64
_KINDS = {"f8": "<f8", "i8": "<i8", "u1": "|u1"}
_LEFTOVER = ".part"


def write_file(path: Path, words: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays of float64, int64 or uint8 and what is to be said of them (JSON) at `path`, all or nothing."""
    beside = path.parent / f".{path.name}.{secrets.token_hex(6)}{_LEFTOVER}"
    try:
        with open(beside, "xb", opener=private) as out:
            if path.exists():
                shutil.copymode(path, beside)
            _write(out, words, arrays)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise BadInput(f"{path}: the state cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """What `write_file` wrote. The arrays cannot be written to. Whatever is wrong with a file is said in one line."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # to open a pipe is to wait for who writes into it
        raise BadInput(f"{path}: the state cannot be read: wanted a file; got a pipe or a device")
    try:
        with path.open("rb") as source:
            size = os.fstat(source.fileno()).st_size
            head = source.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(MARK):
                raise BadInput(f"{path}: this is not a state of a log: it does not begin as one does")
            version = _HEAD.unpack(head)[1]
            if version > VERSION:
                raise BadInput(f"{path}: a newer release wrote this state (format {version}, this one reads {VERSION})")
            source.seek(0)
            whole: bytes | mmap.mmap
            whole = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) if size >= MAPPED_FROM else source.read()
    except OSError as error:
        raise BadInput(f"{path}: the state cannot be read: {error.strerror or error}") from error
    return _parse(path, whole)


def remove_leftovers(path: Path) -> None:
    """Remove what writers of this file left when they were killed. For who holds the file's lock."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{_LEFTOVER}"):
        with contextlib.suppress(OSError):
            left.unlink()


def _write(out: BinaryIO, words: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    head = _HEAD.pack(MARK, VERSION)
    padding = bytes(_ALIGNED - len(head))
    out.write(head + padding)
    place = _ALIGNED
    described = []
    for name, array in arrays.items():
        kind = array.dtype.str[1:]
        flat = np.ascontiguousarray(array, dtype=_KINDS[kind])
        gap = bytes(-flat.nbytes % _ALIGNED)
        out.write(flat.data)
        out.write(gap)
        checksum = zlib.crc32(gap, zlib.crc32(flat.data))
        described.append({"name": name, "kind": kind, "shape": list(array.shape), "place": place, "checksum": checksum})
        place += flat.nbytes + len(gap)
    text = json.dumps({"words": words, "arrays": described}, ensure_ascii=True).encode()
    out.write(text)
    where = struct.pack("<QQ", place, len(text))
    out.write(_TAIL.pack(place, len(text), _words_checksum(head + padding, text, where), _END))


def _words_checksum(head: bytes, text: bytes, where: bytes) -> int:
    return zlib.crc32(where, zlib.crc32(text, zlib.crc32(head)))


def _parse(path: Path, whole: bytes | mmap.mmap) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    size = len(whole)
    if size < _ALIGNED + _TAIL.size or whole[size - len(_END) : size] != _END:
        raise BadInput(f"{path}: the state is cut: its end is missing ({size} bytes are there)")
    place, length, checksum, _ = _TAIL.unpack(whole[size - _TAIL.size : size])
    if place + length + _TAIL.size != size or place < _ALIGNED:
        raise _damaged(path)
    text = bytes(whole[place : place + length])
    if _words_checksum(bytes(whole[:_ALIGNED]), text, struct.pack("<QQ", place, length)) != checksum:
        raise _damaged(path)
    try:
        described = json.loads(text)
        arrays = {str(each["name"]): _array(path, whole, place, each) for each in described["arrays"]}
        return dict(described["words"]), arrays
    except BadInput:
        raise
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise not_ours(path, error_line(error)) from None


def _array(path: Path, whole: bytes | mmap.mmap, end: int, described: Mapping[str, Any]) -> AnyArray:
    """One array out of a file whose arrays end at `end`."""
    kind, shape, place = np.dtype(_KINDS[described["kind"]]), described["shape"], described["place"]
    if any(type(number) is not int or number < 0 for number in (place, *shape)):
        raise ValueError(f"an array at {shown(place)} of shape {shown(shape)}")
    size = math.prod(shape) * kind.itemsize
    size += -size % _ALIGNED
    if place < _ALIGNED or place + size > end:
        raise ValueError(f"an array at {shown(place)} of shape {shown(shape)} lies outside of the file")
    if zlib.crc32(memoryview(whole)[place : place + size]) != described["checksum"]:
        raise _damaged(path, f" in {shown(described['name'])}")
    return np.frombuffer(whole, kind, math.prod(shape), place).reshape(shape)


def not_ours(path: Path, why: str) -> BadInput:
    """The error for a file whose checksums are right, and which says what no state of ours would."""
    return BadInput(f"{path}: this is no state that frontguard wrote: {why}")


def _damaged(path: Path, where: str = "") -> BadInput:
    return BadInput(f"{path}: the state is damaged{where}: a checksum does not match; take the last copy that is whole")


def _sync_folder(folder: Path) -> None:
    """Make the move itself durable, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_PAUSE = 0.05  # seconds between two tries


@contextlib.contextmanager
def held(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock of a file; wait for it that many seconds at most, then say who holds it.

    The lock belongs to the process and not to the lock file: when its holder dies, it is free.
    """
    lock = path.parent / f".{path.name}.lock"
    deadline = time.monotonic() + wait
    while True:
        handle = _try(lock, path)
        if handle is not None:
            break
        if time.monotonic() >= deadline:
            raise BadInput(f"{path}: {_holder(lock)} is writing to this state, also after {wait:g} seconds of waiting")
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        # Removed while it is still held, so that whoever opens the file afterwards makes a new one.
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(handle)


def _try(lock: Path, path: Path) -> int | None:
    """The open lock file, locked; None while somebody else has it."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise BadInput(f"{path}: no lock can be made beside it: {error.strerror or error}") from error
    try:
        if _locked(handle) and _same_file(handle, lock):
            os.ftruncate(handle, 0)
            note = {"process": os.getpid(), "machine": socket.gethostname(), "since": time.strftime("%H:%M:%S")}
            os.write(handle, json.dumps(note).encode())
            return handle
    except OSError as error:
        os.close(handle)
        raise BadInput(f"{path}: no lock can be had on it: {error.strerror or error}") from error
    os.close(handle)
    return None


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no POSIX system
        import msvcrt

        try:
            os.lseek(handle, 1024, os.SEEK_SET)  # beyond the note, which others may read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same_file(handle: int, lock: Path) -> bool:
    """False when the holder before removed the file that was opened."""
    try:
        there = lock.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def _holder(lock: Path) -> str:
    try:
        note = json.loads(lock.read_text(encoding="utf-8"))
        return f"process {note['process']} on {note['machine']} (since {note['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
