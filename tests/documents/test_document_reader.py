"""Files beside a process. Their content is invented."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from monitor.clock import ManualClock
from monitor.documents.config_file import parse_config, read_config
from monitor.documents.reader import DocumentReader
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity


def test_lines_of_keys_and_secrets() -> None:
    found = parse_config("a.yaml", "train:\n  max_steps: 100\n  lr: 1e-5\napi_key: abcdef99\n")
    assert [(s.name, s.value, s.line) for s in found] == [
        ("train.max_steps", 100.0, 2), ("train.lr", 1e-5, 3), ("api_key", "***", 4)]  # fmt: skip
    assert parse_config("a.py", "import os\nmax_iters = 600\nx = os.getcwd()\n")[0].line == 2


def test_unchanged_is_the_same_object_and_a_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("max_steps: 100\n")
    fact = ProcessFacts(process=ProcessIdentity(pid=7, start_ticks=1), mine=True, kind="training", cwd=str(tmp_path),
                        uid=os.geteuid(), argv=("python", "train.py", "c.yaml"))  # fmt: skip
    clock = ManualClock()
    reader = DocumentReader(clock)
    first = reader.read((fact,), {})[0]
    assert first.documents[0].settings[0].source == "c.yaml line 1"
    clock.advance(11)
    assert reader.read((fact,), {})[0] is first
    (tmp_path / "c.yaml").write_text("max_steps: 2000\n")
    clock.advance(11)
    assert reader.read((fact,), {})[0].documents[0].settings[0].value == 2000.0


@given(st.text(max_size=200), st.sampled_from([".json", ".yaml", ".toml", ".py"]))
def test_any_text_is_read_or_refused_in_words(text: str, ending: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        path.write_bytes(text.encode("utf-8", "replace"))
        document = read_config(str(path), "config", None)
    assert document.refused or all(setting.document == document.path for setting in document.settings)


def test_aliases_of_aliases_are_read_once(tmp_path: Path) -> None:
    nine = ((n, ", ".join(f"k{k}: *a{n - 1}" for k in range(9))) for n in range(1, 9))
    levels = ["a0: &a0 {x: {}}", *(f"a{n}: &a{n} {{{keys}}}" for n, keys in nine)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join([*levels, "max_steps: 5"]))
    document = read_config(str(path), "config", None)
    assert [(s.name, s.value) for s in document.settings] == [("max_steps", 5.0)]
