"""What all tests share: tests in a browser need one."""

from __future__ import annotations

import shutil

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shutil.which("chromium") is None:
        absent = pytest.mark.skip(reason="there is no Chromium on this machine: apt-get install chromium")
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(absent)
