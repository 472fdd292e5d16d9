"""The published JSON schemas, made from the output types: `python -m tui.outputs.schemas` writes docs/schemas/."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from tui.outputs.output import Output

OUTPUTS: tuple[tuple[str, str, str], ...] = (
    ("once", "tui.outputs.once_json", "OnceOutput"),
    ("free", "tui.outputs.free", "FreeOutput"),
    ("attach", "tui.outputs.attach", "AttachOutput"),
    ("log", "tui.outputs.log", "LogOutput"),
    ("doctor", "tui.outputs.doctor", "DoctorOutput"),
)
"""Command, module and type of its object."""


def failed(command: str, sentence: str) -> Output:
    """The object that `command --json` writes when nothing could be read."""
    module = next((module for name, module, _ in OUTPUTS if name == command), OUTPUTS[0][1])
    output: Output = importlib.import_module(module).failed(sentence)
    return output


def schema(command: str) -> dict[str, Any]:
    """The JSON schema of one command's object.

    Raises:
        KeyError: there is no such command.
    """
    found = next(((module, name) for command_name, module, name in OUTPUTS if command_name == command), None)
    if found is None:
        raise KeyError(command)
    made = msgspec.json.schema(getattr(importlib.import_module(found[0]), found[1]))
    title = f"traintop {command} --json"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **made}


def text(command: str) -> str:
    """The file that is published."""
    return json.dumps(schema(command), indent=2) + "\n"


def folder() -> Path:
    """Where they are published, in a checkout."""
    return Path(__file__).resolve().parents[2] / "docs" / "schemas"


def main() -> int:
    """Write every schema."""
    folder().mkdir(parents=True, exist_ok=True)
    for command, _, _ in OUTPUTS:
        (folder() / f"{command}.json").write_text(text(command), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
