"""One configuration file as settings with the line of each key. Nothing of a file is ever executed."""

from __future__ import annotations

import ast
import os
import stat
import sys
import warnings

import yaml

from monitor.clean import clean
from monitor.documents.given import MAX_VALUE, named
from monitor.redact import redact
from monitor.types.documents import Document, Setting

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 262144
MAX_SETTINGS = 512
MAX_DEPTH = 8
ENDINGS = (".json", ".yaml", ".yml", ".toml", ".py")


def read_config(path: str, role: str, owner_uid: int | None) -> Document:
    """Read one file of this user, at most 256 KiB. Never raises: what is wrong stands in `refused`."""
    safe = clean(path, 1024)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        return Document(path=safe, role=role, refused=clean(getattr(error, "strerror", "") or "cannot be opened", 200))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Document(path=safe, role=role, refused="no regular file")
        if status.st_uid not in (owner_uid, os.geteuid()):
            return Document(path=safe, role=role, refused="the file belongs to another user")
        if status.st_size > MAX_BYTES:
            return Document(path=safe, role=role, modified_s=status.st_mtime, refused="larger than 256 KiB")
        data = os.read(descriptor, MAX_BYTES)
    except OSError as error:
        return Document(path=safe, role=role, refused=clean(error.strerror or "cannot be read", 200))
    finally:
        os.close(descriptor)
    try:
        settings = parse_config(path, data.decode("utf-8", "replace"))
    except (ValueError, SyntaxError, RecursionError, MemoryError, yaml.YAMLError) as error:
        return Document(
            path=safe, role=role, modified_s=status.st_mtime, refused=f"not understood ({type(error).__name__})"
        )
    return Document(
        path=safe,
        role=role,
        modified_s=status.st_mtime,
        settings=settings[:MAX_SETTINGS],
        cut=len(settings) > MAX_SETTINGS,
    )


def parse_config(path: str, text: str) -> tuple[Setting, ...]:
    """The settings of a text, by the ending of its name; raises what its parser raises."""
    found: list[Setting] = []
    if path.endswith(".toml"):
        _plain(tomllib.loads(text), "", path, found, 0)
    elif path.endswith(".py"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's file is no concern of ours
            tree = ast.parse(text)
        _literals(tree, path, found)
    else:  # JSON is a part of YAML, except for tabs between its words
        loader = yaml.SafeLoader(text.replace("\t", " ") if path.endswith(".json") else text)
        try:
            root = loader.get_single_node()
            if root is not None:
                _node(root, "", path, found, 0, set())
        finally:
            loader.dispose()
    return tuple(found)


def _node(node: yaml.Node, name: str, path: str, found: list[Setting], depth: int, seen: set[int]) -> None:
    if len(found) > MAX_SETTINGS or depth > MAX_DEPTH:
        return
    if isinstance(node, yaml.MappingNode):
        if id(node) in seen:
            return  # an alias: nested ones would multiply without end
        seen.add(id(node))
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                _node(value, f"{name}.{key.value}" if name else str(key.value), path, found, depth + 1, seen)
    elif isinstance(node, yaml.ScalarNode) and name:
        plain = str(node.value)
        read: object = plain
        if node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
            read = _number(plain)
        elif node.tag == "tag:yaml.org,2002:bool":
            read = plain.lower() in ("true", "yes", "on")
        elif node.tag == "tag:yaml.org,2002:null":
            read = None
        elif _is_exponent(plain):
            read = _number(plain)  # 1e-5 is text to YAML 1.1 and a number to whoever wrote it
        _add(found, name, read, path, node.start_mark.line + 1)


def _plain(value: object, name: str, path: str, found: list[Setting], depth: int) -> None:
    if len(found) > MAX_SETTINGS or depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            _plain(inner, f"{name}.{key}" if name else str(key), path, found, depth + 1)
    elif not isinstance(value, list):
        _add(found, name, value, path, None)


def _literals(tree: ast.Module, path: str, found: list[Setting]) -> None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            if value is None or isinstance(value, (str, int, float, bool)):
                _add(found, node.targets[0].id, value, path, node.lineno)


def _add(found: list[Setting], name: str, value: object, path: str, line: int | None) -> None:
    safe = clean(name, 128)
    kept: str | float | bool | None
    if value is None or isinstance(value, bool):
        kept = value
    elif isinstance(value, (int, float)) and abs(value) < 1e300:
        kept = float(value)
    else:
        kept = clean(redact(clean(str(value)[: 2 * MAX_VALUE], MAX_VALUE)), MAX_VALUE)
    where = f"{clean(os.path.basename(path), 200)}" + (f" line {line}" if line else "")
    found.append(Setting(name=safe, value=named(safe, kept), source=where, document=clean(path, 1024), line=line))


def _number(text: str) -> float | str:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        return text


def _is_exponent(text: str) -> bool:
    return len(text) < 32 and text[:1] in "+-.0123456789" and "e" in text.lower() and isinstance(_number(text), float)
