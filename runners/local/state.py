"""Where a run keeps what must outlive its controller, and the rights of these places.

Layout below the state directory (``$XDG_STATE_HOME/benchspec`` or ``/var/tmp/benchspec-UID``), all
mode 0700::

    RUN_ID/SITE/jobs/JOB_ID/              see agent/record.py
    RUN_ID/SITE/allocations/ALLOCATION_ID ports and work directories of an allocation (JSON)
    RUN_ID/SITE/allocations/group@ALLOCATION_ID, standing@ALLOCATION_ID, sessions@ALLOCATION_ID and
    RUN_ID/SITE/began                     by what its processes are known (agent/look.sh)
    RUN_ID/SITE/work/ALLOCATION_ID/ROLE/  work directories, unless the site's option ``workdir``
    moves them to WORKDIR/benchspec-RUN_ID/SITE/ALLOCATION_ID/ROLE/

A run may have several local sites (every target with ``runner: local`` is one), which must not see
each other's allocations. /var/tmp and not /run or /tmp, since work directories hold test files of
many GiB, and a memory file system would be measured instead of the disk.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...engine.model.errors import RunFailed, StorageError, UsageError
from ...engine.model.spec import Site

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_REMEDIES = {
    errno.ENOSPC: (
        "free space on that file system, or move the work elsewhere (XDG_STATE_HOME, site option"
        " `workdir`)"
    ),
    errno.EDQUOT: (
        "free quota on that file system, or move the work elsewhere (XDG_STATE_HOME, site option"
        " `workdir`)"
    ),
    errno.EROFS: (
        "the file system is mounted read-only; name a writable place with XDG_STATE_HOME or the"
        " site option `workdir`"
    ),
}
_RIGHTS = "name a place you may write to with XDG_STATE_HOME or the site option `workdir`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The directories of one site of a run on this host."""

    run: Path
    work: Path

    @property
    def jobs(self) -> Path:
        """One directory per job that was started and not yet discarded."""
        return self.run / "jobs"

    @property
    def allocations(self) -> Path:
        """One file per allocation that was not released."""
        return self.run / "allocations"

    @property
    def began(self) -> Path:
        """The file that says since when, and below whom, there are processes of this site and run
        (agent/kept.sh).
        """
        return self.run / "began"

    def group(self, allocation_id: str) -> Path:
        """The file that names the control group of an allocation, where it has one."""
        return self.allocations / f"group@{allocation_id}"

    def standing(self, allocation_id: str) -> Path:
        """The file that says that something was started for an allocation which is to last."""
        return self.allocations / f"standing@{allocation_id}"

    def create(self) -> None:
        """Make those that are not there. Raises StorageError."""
        for path in (
            self.run.parent.parent,
            self.run.parent,
            self.run,
            self.jobs,
            self.allocations,
            self.work.parent,
            self.work,
        ):
            make_private(path)

    def remove_if_empty(self) -> None:
        """Remove the directories that hold nothing any more."""
        for path in (
            self.work,
            self.work.parent,
            self.allocations,
            self.jobs,
            self.run,
            self.run.parent,
        ):
            try:
                if path == self.run and os.listdir(path) == [self.began.name]:
                    self.began.unlink()
                path.rmdir()
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    raise StorageError(
                        f"cannot be removed: {error.strerror}", where=str(path), remedy=_RIGHTS
                    ) from error

    def roots(self) -> list[Path]:
        """The topmost directories that belong to this site and run alone."""
        return [self.run] if self.work.is_relative_to(self.run) else [self.work, self.run]


def state_root() -> Path:
    """The directory of all runs of this user on this host."""
    configured = os.environ.get("XDG_STATE_HOME", "")
    # the XDG base directory specification says to ignore relative paths
    return (
        Path(configured) / "benchspec"
        if configured.startswith("/")
        else Path(f"/var/tmp/benchspec-{os.getuid()}")
    )


def places(site: Site, run_id: str) -> Places:
    """Where ``run_id`` keeps its things on ``site``. Raises UsageError for an id that is no file
    name or a relative ``workdir``.
    """
    run = state_root() / checked_name(run_id, "run id") / checked_name(site.name, "site name")
    workdir = site.options.get("workdir")
    if workdir is None:
        return Places(run=run, work=run / "work")
    if not isinstance(workdir, str) or not workdir.startswith("/"):
        raise UsageError(
            f"found workdir {workdir!r}, expected an absolute path", where=f"site {site.name}"
        )
    return Places(run=run, work=Path(workdir) / f"benchspec-{run_id}" / site.name)


def checked_name(name: str, what: str) -> str:
    """Return ``name`` if it can be one file name and nothing else. Raises UsageError."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"found {what} {name!r}, expected letters, digits, '.', '_' and '-', starting with a"
            " letter or digit"
        )
    return name


def inside(directory: Path, name: str) -> Path:
    """The path of a file ``name`` inside ``directory``. Raises RunFailed if the name leads out of
    it, also through a symbolic link.
    """
    path = directory / name
    if (
        not name
        or "\0" in name
        or not path.resolve().is_relative_to(directory.resolve())
        or path == directory
    ):
        raise RunFailed(
            f"found file name {name!r}, expected one inside the work directory",
            where=str(directory),
        )
    return path


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a full or unwritable place into a StorageError that
    says what to do.
    """
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, _RIGHTS)
        raise StorageError(
            f"cannot be written: {error.strerror}", where=str(path), remedy=remedy
        ) from error


def make_private(path: Path) -> None:
    """Make ``path`` (and its parents) for this user alone; an existing one must belong to this
    user, be no link and be closed to others.

    /var/tmp is open to everybody: without this check another user could have put a directory of
    that name there first.

    Raises:
        StorageError: it cannot be made, or is not private.
    """
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            found = path.lstat()
            if (
                not stat.S_ISDIR(found.st_mode)
                or found.st_uid != os.getuid()
                or found.st_mode & 0o077
            ):
                raise StorageError(
                    f"is not a private directory of this user (uid {found.st_uid}, mode"
                    f" {stat.filemode(found.st_mode)})",
                    where=str(path),
                    remedy="remove it, or choose another place with XDG_STATE_HOME",
                ) from None


def remove_tree(path: Path) -> None:
    """Remove a directory of ours with all it holds; harmless when it is gone. Raises
    StorageError.
    """
    with storing(path):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if path.exists():  # something else vanished while we walked: once more
                shutil.rmtree(path)
        except PermissionError:
            # programs make directories that even their owner may not change, as Go does with its
            # modules
            _make_writable(path)
            shutil.rmtree(path)


def _make_writable(path: Path) -> None:
    """Give this user back all rights on the directories below ``path``, from the top, since what is
    below a closed one cannot be seen.
    """
    path.chmod(0o700)
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _make_writable(entry)
