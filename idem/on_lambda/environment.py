"""Settings from the environment, as a type. `idem.cdk` sets the variables of its constructs under these names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Self

from idem.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a function reads from its environment: a field is the variable of the same name in capitals.

    A field with a default need not be there.
    """

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read all of them. Raises ConfigurationError that names every variable that is missing or empty."""
        names = {field.name: field.name.upper() for field in fields(cls)}
        needed = [names[field.name] for field in fields(cls) if field.default is MISSING]
        missing = [variable for variable in needed if not environment.get(variable, "").strip()]
        if missing:
            raise ConfigurationError(
                f"environment variable{'s' * (len(missing) > 1)} {', '.join(missing)} not set: the stack sets them; to run"
                " this by hand, take the values from the stack's outputs"
            )
        return cls(**{name: environment[variable] for name, variable in names.items() if variable in environment})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEnvironment(Environment):
    """Where the records are: what `variables()` of a table construct sets, the second for a table with a sort key."""

    idempotency_table: str
    idempotency_sort_value: str = ""
