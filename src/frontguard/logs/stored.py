"""Arrays on disk, in temporary files without a name.

Such a file vanishes when nobody has it open any more, however that came about: an error, an interrupt, a kill. There is
nothing to clean up, and nothing to find either: `df` shows the room it takes, `ls` does not.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput

Folder = Path | str | None

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_AT_ONCE = 1 << 26  # bytes, of one call to the system


class StoredArray:
    """A flat array that grows at its end; threads may write and read different parts of it at the same time.

    >>> with StoredArray(None, np.dtype(np.int64)) as stored:
    ...     stored.append(np.array([5, 6])), stored.append(np.array([7]))
    ...     stored.read(1, 3), stored.mapped()
    (0, 2)
    (array([6, 7]), array([5, 6, 7]))
    """

    def __init__(self, folder: Folder, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._length = 0
        self._where = Path(tempfile.gettempdir() if folder is None else folder)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0, dir=self._where)  # noqa: SIM115
        except OSError as error:
            raise BadInput(f"no temporary file can be made in {self._where}: {error.strerror}") from None

    def __enter__(self) -> StoredArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._length

    def append(self, array: npt.NDArray[Any]) -> int:
        """Write at the end. Returns where that was."""
        start = self._length
        self.write(array, start)
        self._length = start + len(array)
        return start

    def extend_to(self, length: int) -> None:
        """Make it this long; what is not written before it is read will be zero."""
        self._length = max(self._length, length)

    def write(self, array: npt.NDArray[Any], start: int) -> None:
        """Write from element `start` on."""
        left = np.ascontiguousarray(array, self._dtype).data.cast("B")
        at = start * self._dtype.itemsize
        try:
            while left:
                done = os.pwrite(self._file.fileno(), left[:_AT_ONCE], at)
                left, at = left[done:], at + done
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise BadInput(
                f"the log does not fit in memory, and its temporary files do not fit in {self._where} "
                f"({error.strerror}): give a folder with more room, or more memory"
            ) from None

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Elements start … stop − 1."""
        array = np.empty(stop - start, self._dtype)
        left = array.data.cast("B")
        at = start * self._dtype.itemsize
        while left:
            part = os.pread(self._file.fileno(), min(len(left), _AT_ONCE), at)
            if not part:
                raise OSError(errno.EIO, f"a temporary file in {self._where} is shorter than what was written")
            left[: len(part)] = part
            left, at = left[len(part) :], at + len(part)
        return array

    def mapped(self, writable: bool = False) -> npt.NDArray[Any]:
        """The whole as a memory map, which outlives this object."""
        if self._length == 0:
            return np.empty(0, self._dtype)
        mode: Any = "r+" if writable else "r"
        return np.asarray(np.memmap(self._file, self._dtype, mode, shape=(self._length,)))

    def close(self) -> None:
        """Let go of the file; maps of it live on."""
        self._file.close()
