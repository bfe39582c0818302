"""What PostgreSQL says of a backup: the files that belong to it, and their checksums."""

import hashlib
import os
from pathlib import Path

import msgspec

from memex.errors import BackupUnusable

NAME = "backup_manifest"
ALGORITHM = "SHA256"


class File(msgspec.Struct, frozen=True):
    """One file."""

    size: int = msgspec.field(name="Size")
    """Bytes."""
    checksum: str = msgspec.field(name="Checksum")
    """SHA-256, hexadecimal."""
    path: str | None = msgspec.field(default=None, name="Path")
    encoded: str | None = msgspec.field(default=None, name="Encoded-Path")
    """In place of `path`, hexadecimal, where that is not UTF-8."""

    @property
    def name(self) -> str:
        """Relative to the cluster."""
        return self.path or os.fsdecode(bytes.fromhex(self.encoded or ""))


class Manifest(msgspec.Struct, frozen=True):
    """All of them, but for the write-ahead log: that has checksums of its own."""

    files: list[File] = msgspec.field(name="Files")


def read(cluster: Path) -> dict[str, File]:
    """The files of a backup by name. Raises BackupUnusable where the manifest is not there or is not what it was."""
    try:
        raw = (cluster / NAME).read_bytes()
    except OSError as error:
        raise BackupUnusable(f"The backup is incomplete: {NAME} cannot be read.") from error
    if not is_whole(raw):
        raise BackupUnusable(f"The backup is damaged: {NAME} is not what it was.")
    return {file.name: file for file in msgspec.json.decode(raw, type=Manifest).files}


def is_whole(raw: bytes) -> bool:
    """Whether the last line has the checksum of all before it."""
    *lines, last = raw.splitlines(keepends=True) or [b""]
    return hashlib.sha256(b"".join(lines)).hexdigest().encode() in last
