from __future__ import annotations

from pathlib import Path

from monitor.agent.abilities import host_abilities


def _works(proc: Path, uid: int = 1000) -> dict[str, bool]:
    return {ability.name: ability.works for ability in host_abilities(str(proc), uid)}


def test_each_thing_that_is_missing_is_named_with_a_remedy(tmp_path: Path) -> None:
    found = host_abilities(str(tmp_path), 1000)
    assert [ability.works for ability in found] == [False, False, False]
    assert all(ability.detail and ability.remedy for ability in found)


def test_what_is_there_works(tmp_path: Path) -> None:
    for path in ("self/stat", "1/stat", "pressure/cpu"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("x")
    assert set(_works(tmp_path).values()) == {True}
    (tmp_path / "1" / "stat").unlink()
    assert _works(tmp_path) == {
        "processes": True,
        "processes of other users": False,
        "pressure stall figures": True,
    }
    assert _works(tmp_path, uid=0)["processes of other users"] is True
