"""A Helm chart that lies beside a spec as one file: an archive as it is, a folder packed, always to
the same bytes.

Format: a gzipped tar with one folder in it, https://helm.sh/docs/topics/charts/.
"""

from __future__ import annotations

import errno
import gzip
import io
import tarfile
from pathlib import Path


def read_chart(path: Path) -> bytes:
    """The bytes of the archive ``path``, or the folder ``path`` as one. Raises OSError where there
    is neither.
    """
    return pack(path) if path.is_dir() else path.read_bytes()


def pack(folder: Path) -> bytes:
    """Every file of ``folder`` in an archive, without times and owners.

    Raises:
        OSError: it has no Chart.yaml, a file cannot be read, or a link leads out of the folder:
            what the controller has elsewhere is no chart's.
    """
    folder.joinpath("Chart.yaml").stat()
    packed, home = io.BytesIO(), folder.resolve()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            if not file.resolve().is_relative_to(home):
                raise OSError(
                    errno.EPERM, f"the link {file.relative_to(folder)} leads out of the chart"
                )
            data = file.read_bytes()
            entry = tarfile.TarInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
