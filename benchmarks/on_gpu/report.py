"""The report: `report.json` with everything, `report.md` to be read in two minutes. Both with invented names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.anonymous import Names
from benchmarks.on_gpu.parts import PartResult, Row
from monitor.nvml.metrics import ALL_LINKS

SCHEMA = "traintop.on_gpu/1"
SLOWEST = 12
VERDICTS = ("differs", "unknown", "holds")


class Report:
    """Collects the parts. `write` may be called again and again."""

    def __init__(self, out: Path, names: Names, gpu_name: str) -> None:
        self.parts: list[PartResult] = []
        self.took_s = 0.0
        self.interrupted = False
        self._out = out
        self._names = names
        self._gpu_name = gpu_name

    def troubles(self) -> list[tuple[str, str]]:
        """(part, sentence) for everything that did not come to its end."""
        found = [(part.name, part.trouble) for part in self.parts if part.trouble]
        return [*found, ("the script", "It was interrupted.")] if self.interrupted else found

    def write(self) -> None:
        """Write both files, each in one go.

        Raises:
            OSError: they cannot be written.
        """
        _replace(self._out / "report.json", self.json())
        _replace(self._out / "report.md", self.markdown())

    def json(self) -> str:
        """Everything; a line a finding, so that two reports can be compared line by line."""
        head = {"schema": SCHEMA, "gpu": self._gpu_name, "took_s": self.took_s, "interrupted": self.interrupted}
        lines = [f' "{key}": {json.dumps(value)}' for key, value in head.items()]
        return (
            "{\n" + ",\n".join([*lines, ' "parts": [\n' + ",\n".join(map(self._part, self.parts)) + "\n ]"]) + "\n}\n"
        )

    def _part(self, part: PartResult) -> str:
        head = json.dumps({"part": part.name, "took_s": part.took_s, "trouble": self._names.text(part.trouble)})
        rows = ",\n".join("   " + json.dumps(self._names.value(row), ensure_ascii=False) for row in part.rows)
        return f'  {head[:-1]}, "rows": [\n{rows}\n  ]}}' if rows else f'  {head[:-1]}, "rows": []}}'

    def markdown(self) -> str:
        """The short one."""
        parts = {part.name: part.rows for part in self.parts}
        sections = [
            f"# traintop on a real GPU: {self._gpu_name}",
            _machine(parts.get("opening the driver", [])) + f"\n\nThe whole took {self.took_s:.0f} s.",
            _troubles(self.troubles()),
            _checks([*parts.get("assumptions", []), *parts.get("assumptions under load", [])]),
            _calls("Driver calls", parts.get("call times", [])),
            _calls("Driver calls under load", parts.get("call times under load", [])),
            _buffers("Sample buffers", parts.get("sample buffers", [])),
            _buffers("Sample buffers under load", parts.get("sample buffers under load", [])),
            _fields(parts.get("field values", [])),
            _features(parts.get("features", [])),
            _trainings(parts.get("trainings", [])),
            _recording(parts.get("recording", [])),
        ]
        return self._names.text("\n\n".join(section for section in sections if section)) + "\n"


def _replace(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def _cell(value: Any) -> str:  # noqa: ANN401  whatever JSON may hold
    return "–" if value is None else str(value).replace("|", "\\|").replace("\n", " ")


def _table(titles: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    return "\n".join([*lines, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)])


def _machine(rows: list[Row]) -> str:
    facts = next((row for row in rows if row.get("what") == "this machine"), {})
    listed = [f"{name} {value}" for name, value in facts.items() if name != "what"]
    gpus = [row for row in rows if row.get("what") == "a GPU"]
    handles = ", ".join(f"{row['handle_ms']} ms" for row in gpus if "handle_ms" in row)
    opened = next((row["took_ms"] for row in rows if "took_ms" in row), None)
    refused = [f"\n\nGPU {row['index']}: {row['refused']}" for row in gpus if "refused" in row]
    text = f"{', '.join(listed)}.\n\nGPUs: {len(gpus)}. Opening the library took {_cell(opened)} ms, handles {handles}."
    return text + "".join(refused)


def _troubles(troubles: list[tuple[str, str]]) -> str:
    lines = [f"- {part}: {sentence}" for part, sentence in troubles]
    return "## What is missing here, and why\n\n" + ("\n".join(lines) if lines else "Nothing.")


def _checks(rows: list[Row]) -> str:
    counts = ", ".join(f"{sum(row['verdict'] == verdict for row in rows)} {verdict}" for verdict in VERDICTS)
    ordered = sorted(rows, key=lambda row: VERDICTS.index(row["verdict"]))
    table = [
        (
            row["verdict"],
            row["check"] + (" (under load)" if row["under_load"] else ""),
            row["expected"],
            row["observed"],
        )
        for row in ordered
    ]
    return f"## What the fakes assume\n\n{counts}.\n\n" + _table(("verdict", "check", "expected", "observed"), table)


def _calls(title: str, rows: list[Row]) -> str:
    if not rows:
        return ""
    answered = [row for row in rows if "refused" not in row]
    slowest = sorted(answered, key=lambda row: -row["median_us"])[:SLOWEST]
    figures = [
        (row["call"], row["median_us"], row["p95_us"], row["max_us"], row["first_us"], row["repetitions"])
        for row in slowest
    ]
    table = _table(("call", "median µs", "p95", "max", "first", "times"), figures)
    refused = [
        f"- {row['call']}: {row['refused']['code']}, {row['refused']['reason']}" for row in rows if "refused" in row
    ]
    return (
        f"## {title}\n\n{len(rows)} timed, {len(answered)} answered. The slowest:\n\n{table}"
        f"\n\nRefused: {len(refused)}\n\n" + "\n".join(refused)
    ).rstrip()


def _buffers(title: str, rows: list[Row]) -> str:
    if not rows:
        return ""
    table: list[tuple[Any, ...]] = []
    for row in rows:
        if "refused" in row:
            table.append((row["name"], row["refused"]["reason"], None, None, None, None))
            continue
        spacing, value = row.get("spacing_ms") or {}, row.get("value") or {}
        span = f"{value.get('min')} … {value.get('max')}" if value else None
        table.append(
            (row["name"], row["count"], row.get("span_s"), spacing.get("median"), row.get("newest_age_ms"), span)
        )
    return f"## {title}\n\n" + _table(("buffer", "samples", "span s", "apart ms", "newest ms ago", "values"), table)


def _field_name(row: Row) -> str:
    return str(row["field"]) + ("" if not row["scope"] else " all links" if row["scope"] == ALL_LINKS else " module")


def _fields(rows: list[Row]) -> str:
    if not rows:
        return ""
    answered = [row for row in rows if "field" in row]
    slow = sorted(answered, key=lambda row: -row["latency_us"])[:5]
    moving = [f"{_field_name(row)} ({row['change_per_s']:g}/s)" for row in answered if row["change_per_s"]]
    refused: Row = next((row["refused_ids_by_code"] for row in rows if "refused_ids_by_code" in row), {})
    dearest = ", ".join(f"{_field_name(row)}: {row['latency_us']} µs" for row in slow)
    lines = [
        f"{len(answered)} answer: {', '.join(map(_field_name, answered))}.",
        f"Dearest by the driver's own count: {dearest}.",
        f"Moving: {', '.join(moving) or 'none'}.",
        *(f"Code {code}: {len(ids)} fields." for code, ids in refused.items()),
    ]
    return "## Field values\n\n" + "\n\n".join(lines)


def _features(rows: list[Row]) -> str:
    lines = [
        f"- {row['feature']}: " + json.dumps({key: value for key, value in row.items() if key != "feature"})
        for row in rows
    ]
    return "## Features\n\n" + "\n".join(lines) if lines else ""


def _trainings(rows: list[Row]) -> str:
    if not rows:
        return ""
    figures = [
        (
            row["session"],
            row["verdict"],
            row.get("device"),
            row.get("last_step"),
            row.get("first_step_after_s"),
            row.get("seconds"),
            row.get("exit_status"),
        )
        for row in rows
    ]
    table = _table(("training", "verdict", "on", "steps", "first step after s", "seconds", "exit status"), figures)
    messages = [
        f"The end of the log of {row['session']}:\n\n```\n" + "\n".join(row["tail"][-4:]) + "\n```"
        for row in rows
        if row.get("exit_status")
    ]
    return "\n\n".join([f"## Trainings\n\n{table}", *messages])


def _recording(rows: list[Row]) -> str:
    if not rows:
        return ""
    file = rows[0]
    runs = [row["replayed_run"] for row in rows[1:]]
    table = _table(
        ("run in the replay", "kind", "step", "s/step", "GPUs", "ended"),
        [(run["name"], run["kind"], run["step"], run["step_seconds"], run["gpus"], run["ended"]) for run in runs],
    )
    return f"## Recording\n\n{file['file']}: {file['bytes']} bytes, {file['ticks']} ticks.\n\n{table}"
