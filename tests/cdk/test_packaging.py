"""How the asset is made: against a small project and a made-up distribution, without CDK."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from pathlib import Path

import pytest

import idem
from idem.cdk.errors import PackagingError
from idem.cdk.packaging import (
    AWS_SERVICES,
    INSTALLED,
    Package,
    StagedAsset,
    digest,
    distribution_files,
    library,
    merge,
    pins,
    source_files,
    stage_packages,
    write,
)


def install(site: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    """Lay a distribution out as pip does, RECORD included."""
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/INSTALLER": b"pip\n",
        f"{info}/direct_url.json": b'{"url": "file:///a/folder/of/this/machine"}',
        f"{info}/licenses/LICENSE.txt": b"be nice\n",
    }
    lines = []
    for path, content in files.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={value},{len(content)}")
    lines.append(f"{info}/RECORD,,")
    (site / info / "RECORD").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions, first on the path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An app with one module of each kind, and a copy of the library of which the same is true."""
    root = tmp_path / "project"
    for path in (
        "idem/__init__.py",
        "idem/__init__.pyi",
        "idem/py.typed",
        "idem/cdk/tables.py",
        "idem/operators/cli.py",
        "idem/on_lambda/observer.py",
        "idem/__main__.py",
        "idem/testing.py",
        "idem/sources/__init__.py",
        "idem/sources/testing.py",
        "idem/__pycache__/cli.cpython-311.pyc",
        "shop/__init__.py",
        "shop/orders.py",
        "shop/notes.txt",
        "workshop/__init__.py",
        "workshop/faults.py",
        "workshop/demo.py",
        "tests/test_orders.py",
        "docs/orders.md",
    ):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {path}\n")
    (root / "lock.txt").write_text("# nothing is pinned\n")
    return root


def stage(project: Path, *more: Package) -> StagedAsset:
    """The asset of the app: its own package `shop`, the library, and `more`."""
    packages = [library(project), Package(root=project, name="shop"), *more]
    return stage_packages(packages, lock=project / "lock.txt", into=project / "out")


def paths(asset: StagedAsset) -> set[str]:
    return {path.relative_to(asset.path).as_posix() for path in asset.path.rglob("*") if path.is_file()}


SHIPPED = {
    "idem/__init__.py",
    "idem/__init__.pyi",
    "idem/on_lambda/observer.py",
    "idem/sources/__init__.py",
    "idem/sources/testing.py",
    "shop/__init__.py",
    "shop/orders.py",
}


def test_only_what_runs_in_lambda_is_shipped(project: Path) -> None:
    assert paths(stage(project)) == SHIPPED


def test_of_a_package_only_the_named_modules_are_shipped(project: Path) -> None:
    faults = Package(root=project, name="workshop", only=frozenset({"__init__", "faults"}))
    assert paths(stage(project, faults)) == SHIPPED | {"workshop/__init__.py", "workshop/faults.py"}


def test_a_missing_source_is_named(project: Path) -> None:
    (project / "workshop/faults.py").unlink()
    with pytest.raises(PackagingError, match=r"workshop/faults\.py"):
        stage(project, Package(root=project, name="workshop", only=frozenset({"__init__", "faults"})))
    shutil.rmtree(project / "shop")
    with pytest.raises(PackagingError, match=r"shop/__init__\.py"):
        stage(project)
    assert not (project / "out").exists()


def test_times_and_place_change_nothing_and_one_byte_does(project: Path, tmp_path: Path) -> None:
    first = stage(project)
    elsewhere = tmp_path / "moved"
    shutil.copytree(project, elsewhere)
    for path in elsewhere.rglob("*"):
        os.utime(path, (1, 1))
    assert stage(elsewhere).digest == first.digest
    (elsewhere / "shop/orders.py").write_text("# shop/orders.py \n")
    assert stage(elsewhere).digest != first.digest


@pytest.mark.parametrize(
    "path",
    [
        "idem/__main__.py",
        "idem/operators/cli.py",
        "idem/operators/added.py",
        "idem/cdk/tables.py",
        "idem/testing.py",
        "docs/orders.md",
        "tests/test_orders.py",
    ],
)
def test_a_change_of_commands_constructs_docs_or_tests_deploys_nothing_anew(project: Path, path: str) -> None:
    before = stage(project).digest
    (project / path).write_text("changed")
    assert stage(project).digest == before


def test_the_library_is_found_where_it_is_installed() -> None:
    shipped = source_files(INSTALLED, "idem", without=library().without)
    assert library().root == INSTALLED == Path(idem.__file__).resolve().parents[1]
    assert {
        "idem/__init__.py",
        "idem/__init__.pyi",
        "idem/dynamo/store.py",
        "idem/on_lambda/entry.py",
    } <= shipped.keys()
    assert {path.split("/")[1] for path in shipped}.isdisjoint({"cdk", "operators", "testing.py", "__main__.py"})


def test_a_lock_file_that_pins_the_library_itself_ships_the_same_part_of_it(site: Path) -> None:
    whole = dict.fromkeys(("idem/__init__.py", "idem/__init__.pyi", "idem/py.typed", "idem/__main__.py"), b"")
    install(site, "idem_lambda", "9.9", whole | {"idem/cdk/tables.py": b"", "idem/dynamo/store.py": b""})
    kept = {path for path in distribution_files("idem-lambda", "9.9") if path.startswith("idem/")}
    assert kept == {"idem/__init__.py", "idem/__init__.pyi", "idem/dynamo/store.py"}


def test_a_content_that_moved_to_another_path_is_another_asset() -> None:
    assert digest({"a": b"1"}) != digest({"b": b"1"})
    assert digest({"a": b"1", "b": b"2"}) != digest({"a": b"2", "b": b"1"})
    assert digest({"a": b"1", "b": b"2"}) == digest({"b": b"2", "a": b"1"})


def test_a_staged_folder_is_used_again_and_mended_when_something_was_left_in_it(tmp_path: Path) -> None:
    files = {"handlers/orders.py": b"x = 1\n"}
    asset = write(files, tmp_path)
    inode = asset.path.stat().st_ino
    assert write(files, tmp_path).path.stat().st_ino == inode
    (asset.path / "handlers/orders.pyc").write_bytes(b"bytecode")
    assert write(files, tmp_path) == asset
    assert [path.name for path in asset.path.rglob("*") if path.is_file()] == ["orders.py"]
    assert [path.name for path in tmp_path.iterdir()] == [asset.digest]


def test_lambda_may_read_files_staged_under_a_private_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        asset = write({"idem/__init__.py": b""}, tmp_path)
    finally:
        os.umask(before)
    assert (asset.path / "idem/__init__.py").stat().st_mode & 0o777 == 0o644


def test_a_distribution_keeps_its_code_and_licence_and_loses_what_tells_of_this_machine(site: Path) -> None:
    install(site, "parcel", "1.2", {"parcel/__init__.py": b"", "parcel/x.pyc": b"", "../../bin/parcel": b"#!"})
    assert set(distribution_files("parcel", "1.2")) == {
        "parcel/__init__.py",
        "parcel-1.2.dist-info/METADATA",
        "parcel-1.2.dist-info/licenses/LICENSE.txt",
    }


def test_only_the_apis_in_use_are_shipped(site: Path) -> None:
    data = {
        "botocore/data/endpoints.json": b"{}",
        "botocore/data/dynamodb/2012-08-10/service-2.json.gz": b"x",
        "botocore/data/dynamodb/2012-08-10/examples-1.json": b"x",
        "botocore/data/ec2/2016-11-15/service-2.json.gz": b"x",
        "botocore/client.py": b"",
    }
    install(site, "botocore", "9.9", data)
    kept = {path for path in distribution_files("botocore", "9.9") if not path.startswith("botocore-")}
    needed = {
        "botocore/data/endpoints.json",
        "botocore/data/dynamodb/2012-08-10/service-2.json.gz",
        "botocore/client.py",
    }
    assert kept == needed
    more = distribution_files("botocore", "9.9", services=AWS_SERVICES | {"ec2"})
    assert {path for path in more if "/ec2/" in path} == {"botocore/data/ec2/2016-11-15/service-2.json.gz"}


def test_another_version_than_the_pinned_one_is_refused_with_both(site: Path) -> None:
    install(site, "parcel", "1.2", {"parcel.py": b""})
    with pytest.raises(
        PackagingError, match=r"parcel is installed as 1\.2 but pinned as 1\.3: install what the lock file pins"
    ):
        distribution_files("parcel", "1.3")


def test_a_distribution_that_is_not_installed_is_named(site: Path) -> None:
    assert not list(site.iterdir())
    with pytest.raises(PackagingError, match=r"parcel-nowhere 1\.0 is not installed: install what the lock file pins"):
        distribution_files("parcel-nowhere", "1.0")


@pytest.mark.parametrize("file", ["parcel/fast.cpython-311-x86_64-linux-gnu.so", "parcel/fast.pyd"])
def test_compiled_code_is_refused(site: Path, file: str) -> None:
    install(site, "parcel", "1.2", {"parcel/__init__.py": b"", file: b"\x7fELF"})
    with pytest.raises(PackagingError, match="compiled code"):
        distribution_files("parcel", "1.2")


def test_a_distribution_changed_or_damaged_since_its_installation_is_refused(site: Path) -> None:
    install(site, "parcel", "1.2", {"parcel.py": b"honest\n"})
    (site / "parcel.py").write_bytes(b"patched\n")
    with pytest.raises(PackagingError, match=r"parcel\.py was changed"):
        distribution_files("parcel", "1.2")
    (site / "parcel.py").unlink()
    with pytest.raises(PackagingError, match=r"parcel\.py is gone"):
        distribution_files("parcel", "1.2")


def test_a_distribution_without_a_list_of_its_files_is_refused(site: Path) -> None:
    install(site, "parcel", "1.2", {"parcel.py": b""})
    (site / "parcel-1.2.dist-info/RECORD").unlink()
    with pytest.raises(PackagingError, match="no list of its files"):
        distribution_files("parcel", "1.2")


def test_two_sources_of_one_path_are_refused() -> None:
    with pytest.raises(PackagingError, match=r"six\.py"):
        merge([{"six.py": b"1", "a.py": b""}, {"six.py": b"1"}])


def test_pins_are_read_past_hashes_and_comments(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "# by hand\nboto3==1.44.8 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via x\nsix==1.17\n"
    )
    assert pins(lock) == {"boto3": "1.44.8", "six": "1.17"}


@pytest.mark.parametrize("line", ["boto3>=1.44", "boto3", "-r other.txt", "six==1 ; python_version < '3.12'", "-e ."])
def test_a_line_that_is_no_exact_pin_is_refused(tmp_path: Path, line: str) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"{line}\n")
    with pytest.raises(PackagingError, match="no exact pin"):
        pins(lock)


def test_a_missing_lock_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="--generate-hashes"):
        pins(tmp_path / "lock.txt")
