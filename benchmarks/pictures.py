"""Make the pictures in docs/pictures: the real command under a terminal, and its screen as SVG.

Nothing is drawn for the picture: `traintop --demo` runs under a pseudo terminal, keys are typed, and what the emulated
terminal holds is written down cell by cell. Run it with `make pictures`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.terminal_theme import TerminalTheme

from benchmarks.terminal_session import TerminalSession

CHECKOUT = Path(__file__).resolve().parents[1]
NORMAL = ("101218", "cc5555", "5faa6e", "c8a050", "5a8cc8", "a573b9", "55a5aa", "d0d4dc")
BRIGHT = ("5f6470", "e17373", "7dc38c", "dcb96e", "78a5dc", "be91cd", "73bec3", "f0f2f6")


def triplet(colour: str) -> tuple[int, int, int]:
    """A colour of six hexadecimal digits as red, green and blue."""
    return int(colour[:2], 16), int(colour[2:4], 16), int(colour[4:], 16)


COLOURS = TerminalTheme(
    triplet(NORMAL[0]),
    triplet(NORMAL[7]),
    [triplet(colour) for colour in NORMAL],
    [triplet(colour) for colour in BRIGHT],
)
# rich's own frame loads a font from the network; a picture in a README must not.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
xml:space="preserve">
<style>.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
TERMINAL = {"COLORTERM": "truecolor", "LANG": "C.UTF-8", "USER": "you", "LOGNAME": "you"}


@dataclass(frozen=True)
class Picture:
    """One picture: how the command is called, how large, how long it runs and what is typed."""

    name: str
    arguments: tuple[str, ...]
    columns: int
    rows: int
    seconds: float = 12.0
    keys: str = ""


PICTURES = (
    Picture("overview", ("--demo",), 120, 36, 40.0),
    Picture("overview-small", ("--demo",), 80, 24, 25.0),
    Picture("overview-large", ("--demo",), 200, 60, 40.0),
    Picture("shared", ("--demo", "shared"), 140, 44, 40.0),
    Picture("memory", ("--demo",), 120, 36, 40.0, "2"),
    Picture("steps", ("--demo",), 120, 36, 40.0, "3"),
    Picture("light", ("--demo", "--theme", "traintop-light"), 120, 36, 25.0),
    Picture("help", ("--demo",), 120, 40, 8.0, "?"),
)


def style_of(cell: Char) -> Style:
    """The style of one emulated cell."""

    def colour(name: str) -> str | None:
        if name == "default":
            return None
        if len(name) == 6 and all(digit in "0123456789abcdefABCDEF" for digit in name):
            return f"#{name}"
        return {"brown": "yellow"}.get(name, name.replace("bright", "bright_"))

    return Style(
        color=colour(cell.fg),
        bgcolor=colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        reverse=cell.reverse,
    )


def as_svg(screen: pyte.Screen, title: str) -> str:
    """What the terminal holds, as SVG."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            width=screen.columns, record=True, file=nowhere, color_system="truecolor", force_terminal=True
        )
        for row in range(screen.lines):
            segments = []
            for column in range(screen.columns):
                cell = screen.buffer[row][column]
                segments.append(Segment(cell.data, style_of(cell)))
            console.print(Segments([*Segment.simplify(segments), Segment.line()]), soft_wrap=True, end="")
        return console.export_svg(title=title, theme=COLOURS, code_format=FRAME, unique_id=f"traintop-{title}")


def alone() -> list[str]:
    """What hides this machine's own runs from a picture, where the system allows it; else nothing."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    prefix += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    try:
        works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        works = False
    return prefix if works else []


def take(picture: Picture, directory: Path) -> Path:
    """Run the command, type the keys and write the picture."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, **TERMINAL, "HOME": home}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "NO_COLOR"):
            environment.pop(name, None)
        command = [*alone(), sys.executable, str(CHECKOUT / "traintop" / "__main__.py"), *picture.arguments]
        with TerminalSession(command, environment, picture.columns, picture.rows) as session:
            session.pump(picture.seconds)
            if picture.keys:
                session.send(picture.keys)
                session.pump(2.5)
            path = directory / f"{picture.name}.svg"
            path.write_text(as_svg(session.screen, picture.name), encoding="utf-8")
    return path


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description="Make the pictures in docs/pictures from the demo.")
    parser.add_argument("names", nargs="*", help="only these pictures")
    parser.add_argument("--to", type=Path, default=CHECKOUT / "docs" / "pictures")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        if not options.names or picture.name in options.names:
            print(take(picture, options.to))


if __name__ == "__main__":
    main()
