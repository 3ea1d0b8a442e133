"""What `make sandbox` tells a person to type works in a shell that sourced what it wrote."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path

from sandbox.__main__ import addresses, exports
from sandbox.access import Access
from sandbox.deploy import STACK, Outputs

ENVIRONMENT = Path("/somewhere/sandbox.env")
OUTPUTS = Outputs(**{field.name: f"the {field.name}" for field in fields(Outputs)})


def test_every_variable_of_the_commands_that_are_shown_is_exported() -> None:
    used = set(re.findall(r"\$(\w+)", addresses(OUTPUTS, ENVIRONMENT)))
    assert len(used) >= 3
    printed = " ".join(f'"${name}"' for name in sorted(used))
    script = f"{exports(Access(1), OUTPUTS)}\nprintf '%s;' {printed} \"$IDEM_STACK\""
    ran = subprocess.run(["bash", "-uc", script], env={}, capture_output=True, text=True, check=True)  # noqa: S607
    values = ran.stdout.split(";")[:-1]
    assert values[-1] == STACK
    assert len(values) == len(used) + 1
    assert all(value.startswith("the ") for value in values[:-1])


def test_the_commands_that_are_shown_are_commands() -> None:
    shown = re.findall(r"^  idem (\w+)", addresses(OUTPUTS, ENVIRONMENT), re.MULTILINE)
    assert shown == ["send", "send", "send", "list", "race"]
