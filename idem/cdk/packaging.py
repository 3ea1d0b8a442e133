"""The Lambda asset: made from an allow-list, without Docker and without a network.

    stage_packages([Package(root=HERE, name="shop"), library()], lock=HERE / "lambda.txt", into=HERE / "cdk.out" / "staging")

It holds packages of the app's own as they are in their folders, this library as it is installed, and the distributions that a
lock file pins, as they are installed in the running environment, byte for byte what their own RECORD says. boto3 should be
among them, because its retry and time-out defaults differ by version, and Lambda's copy moves without notice.

Only pure Python goes in, so one asset runs on arm64 and x86-64. Bytecode does not: it would be this interpreter's,
not Lambda's. The same inputs give the same bytes and the same digest, whatever their times and wherever they lie.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from idem.cdk.errors import PackagingError

AWS_SERVICES = frozenset({"dynamodb", "lambda", "secretsmanager", "sqs", "ssm", "sts"})
"""Services whose API descriptions are shipped: what `idem.on_lambda` and Powertools' parameters call. botocore carries
several hundred, 27 MB. For a work that calls another service, `services=AWS_SERVICES | {"s3"}`; without it the work meets
UnknownServiceError."""

INSTALLED = Path(__file__).resolve().parents[2]
"""The folder that holds `idem/`: site-packages, or a checkout."""

NOT_SHIPPED = frozenset({"__main__", "cdk", "operators", "testing"})
"""Modules and folders of `idem/` for deployments, for operators and for tests."""

SOURCES = (".py", ".pyi")  # the door of `idem` reads its names from its stub
COMPILED = (".so", ".pyd", ".dll", ".dylib")
PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)\s*\\?")
LOCK_REMEDY = "write it with 'uv pip compile --generate-hashes' or 'pip-compile --generate-hashes'"
INSTALL_REMEDY = "install what the lock file pins (pip install --require-hashes -r) where the app is synthesised"
FILE_MODE = 0o644  # Lambda runs as another user: a private umask must not reach the archive

Files = dict[str, bytes]
"""Path in the asset, with forward slashes -> content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedAsset:
    """A folder ready to be zipped; `digest` names its content and nothing else."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A folder of Python files to ship: `root/name`. `only` and `without` name modules or folders directly below it."""

    root: Path
    name: str
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()


def library(root: Path = INSTALLED) -> Package:
    """This library, without what is for deployments, for operators and for tests. `root`: another copy of it.

    Leave it out where the lock file pins `idem-lambda` itself: the same part of it is shipped then.
    """
    return Package(root=root, name="idem", without=NOT_SHIPPED)


def stage_packages(
    packages: Iterable[Package], *, lock: Path, into: Path, services: frozenset[str] = AWS_SERVICES
) -> StagedAsset:
    """Stage packages and pinned distributions in a folder below `into`, named by its content.

    A folder that is already there is used again. Raises PackagingError when a source is missing or the environment
    does not hold exactly what `lock` pins.
    """
    parts = [source_files(each.root, each.name, only=each.only, without=each.without) for each in packages]
    parts += [distribution_files(name, version, services=services) for name, version in pins(lock).items()]
    return write(merge(parts), into)


def source_files(
    root: Path, package: str, *, only: frozenset[str] | None = None, without: frozenset[str] = frozenset()
) -> Files:
    """The Python files of `root/package`. `only` and `without` name modules or folders directly below it."""
    folder = root / package
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*.py*")) if path.suffix in SOURCES}
    files = {
        f"{package}/{relative.as_posix()}": path.read_bytes()
        for relative, path in found.items()
        if (top := relative.parts[0].removesuffix(".py")) not in without and (only is None or top in only)
    }
    missing = {f"{package}/{name}.py" for name in only or {"__init__"}} - files.keys()
    if missing:
        raise PackagingError(
            f"the asset needs {', '.join(sorted(missing))} in {root}: restore the file, or correct `root`"
        )
    return files


def pins(lock: Path) -> dict[str, str]:
    """Name -> version of every distribution in a requirements file with hashes.

    Raises PackagingError for a line that is not an exact pin: what would be shipped must not be a matter of choice.
    """
    if not lock.is_file():
        raise PackagingError(f"the lock file {lock} is missing: {LOCK_REMEDY}")
    found: dict[str, str] = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "--hash=")):
            continue
        match = PIN.fullmatch(text)
        if match is None:
            raise PackagingError(f"{lock.name}: {text!r} is no exact pin (name==version): {LOCK_REMEDY}")
        found[match["name"]] = match["version"]
    return found


def distribution_files(name: str, version: str, *, services: frozenset[str] = AWS_SERVICES) -> Files:
    """The files of an installed distribution that Lambda needs.

    Raises PackagingError when it is not installed, has another version than `version`, was changed since its
    installation, or holds compiled code.
    """
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise PackagingError(f"{name} {version} is not installed: {INSTALL_REMEDY}") from None
    if distribution.version != version:
        raise PackagingError(f"{name} is installed as {distribution.version} but pinned as {version}: {INSTALL_REMEDY}")
    if distribution.files is None:
        raise PackagingError(f"{name} {version} has no list of its files (RECORD): {INSTALL_REMEDY}")
    return {path.as_posix(): _read(name, path) for path in distribution.files if _is_shipped(name, path, services)}


def merge(parts: Iterable[Files]) -> Files:
    """All files in one mapping. Raises PackagingError when two parts claim one path."""
    merged: Files = {}
    for part in parts:
        twice = merged.keys() & part.keys()
        if twice:
            raise PackagingError(f"two sources of the asset hold {min(twice)}: leave one of them out")
        merged |= part
    return merged


def digest(files: Files) -> str:
    """SHA-256 over paths and contents, in the order of the paths."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{hashlib.sha256(files[path]).hexdigest()} {path}\n".encode())
    return whole.hexdigest()


def write(files: Files, into: Path) -> StagedAsset:
    """Write `files` to the folder below `into` that bears their digest.

    A folder of that name is trusted only after its content was read again: a Python process that imported from it
    leaves bytecode behind.
    """
    name = digest(files)
    target = into / name
    if target.is_dir():
        if digest(_read_back(target)) == name:
            return StagedAsset(path=target, digest=name)
        shutil.rmtree(target)
    into.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed, so that an interrupted run leaves no half-filled folder under a good name.
    partial = Path(tempfile.mkdtemp(dir=into, prefix="partial-"))
    for path, content in files.items():
        file = partial / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(FILE_MODE)
    partial.chmod(0o755)
    partial.rename(target)
    return StagedAsset(path=target, digest=name)


def _read_back(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _read(name: str, path: metadata.PackagePath) -> bytes:
    """Read one file of a distribution and hold it against the hash in RECORD."""
    try:
        content = Path(str(path.locate())).read_bytes()
    except FileNotFoundError:
        raise PackagingError(f"{name}: {path} is gone since its installation: {INSTALL_REMEDY}") from None
    if path.hash is not None:
        actual = base64.urlsafe_b64encode(hashlib.new(path.hash.mode, content).digest()).rstrip(b"=").decode()
        if actual != path.hash.value:
            raise PackagingError(f"{name}: {path} was changed since its installation: {INSTALL_REMEDY}")
    return content


def _is_shipped(name: str, path: PurePosixPath, services: frozenset[str]) -> bool:
    """Whether Lambda needs this file; raises PackagingError for compiled code."""
    if path.suffix in COMPILED:
        raise PackagingError(
            f"{name} holds compiled code ({path}), which runs on one processor only: replace it by a pure Python"
            " distribution, and lock again"
        )
    top = path.parts[0]
    if top == ".." or path.suffix == ".pyc":
        return False
    if top.endswith(".dist-info"):
        return _is_kept_metadata(path)
    return _is_used(path, services)


def _is_kept_metadata(path: PurePosixPath) -> bool:
    """Keep what the licences ask for and what `importlib.metadata.version` reads; the rest tells of this machine."""
    return path.name == "METADATA" or path.name.startswith(("LICENSE", "LICENCE", "NOTICE")) or "licenses" in path.parts


def _is_used(path: PurePosixPath, services: frozenset[str]) -> bool:
    """Trim the API descriptions of botocore and boto3, whose shared files lie directly in `data`, and this library."""
    match path.parts:
        case ("botocore" | "boto3", "data", service, _, *_):
            return service in services and not path.name.startswith("examples-")
        case ("idem", top, *_):
            return path.suffix in SOURCES and top.removesuffix(".py") not in NOT_SHIPPED
        case ("boto3", "examples", *_):
            return False
        case _:
            return True
