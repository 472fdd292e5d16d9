"""Invented cgroup texts in the shapes that the runtimes write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import clean
from monitor.processes.containers import container_of
from monitor.processes.oom_kills import oom_kill_file, oom_kills

ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "runtime", "container_id"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", "docker", ID[:12]),
        (f"12:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n", "docker", ID[:12]),
        (
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n",
            "podman",
            ID[:12],
        ),
        (f"0::/machine.slice/libpod-payload-{ID}\n", "podman", ID[:12]),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-{ID}.scope\n",
            "kubernetes",
            ID[:12],
        ),
        (f"11:memory:/kubepods/burstable/pod1/{ID}\n", "kubernetes", ID[:12]),
        (f"0::/kubepods.slice/kubepods-pod1.slice/crio-{ID}.scope\n", "kubernetes", ID[:12]),
        (f"0::/system.slice/nerdctl-{ID}.scope\n", "containerd", ID[:12]),
        ("0::/lxc.payload.trainbox/init.scope\n", "lxc", "trainbox"),
        (f"4:memory:/some_runtime/{ID[:32]}\n0::/\n", "other", ID[:12]),
        ("0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0\n", "slurm", ""),
        ("4:memory:/slurm/uid_1000/job_77/step_batch\n0::/\n", "slurm", ""),
        ("0::/system.slice/training.service\n", "systemd", ""),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-train.service\n", "systemd", ""),
    ],
)
def test_runtimes(text: str, runtime: str, container_id: str) -> None:
    found = container_of(text)
    assert found is not None
    assert (found.runtime, found.container_id) == (runtime, container_id)


def test_names_and_jobs() -> None:
    job = container_of("0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0\n")
    assert job is not None
    assert job.slurm_job_id == "1234"
    service = container_of("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-train.service\n")
    assert service is not None
    assert service.name == "run-train.service"
    both = container_of(f"4:memory:/slurm/uid_1/job_9/step_0/docker/{ID}\n")
    assert both is not None
    assert (both.runtime, both.slurm_job_id) == ("docker", "9")


@pytest.mark.parametrize(
    "text", ["", "0::/\n", "0::/user.slice/user-1000.slice/session-3.scope\n", "x", "1:a\n", "0::/init.scope"]
)
def test_plain_sessions_are_in_no_container(text: str) -> None:
    assert container_of(text) is None


@given(st.text(max_size=300))
def test_any_text_gives_clean_names_or_none(text: str) -> None:
    found = container_of(text)
    assert found is None or clean(found.container_id) == found.container_id


@pytest.mark.parametrize(
    ("place", "text", "content"),
    [
        ("a/memory.events", "0::/a\n", "low 0\noom 2\noom_kill 3\noom_group_kill 0\n"),
        ("unified/a/memory.events", "0::/a\n", "oom_kill 3\n"),
        ("memory/b/memory.oom_control", "4:memory:/b\n0::/\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        ("memory.events", "0::/\n", "oom_kill 3\n"),
    ],
)
def test_kills_are_counted_in_every_hierarchy(tmp_path: Path, place: str, text: str, content: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    found = oom_kill_file(text, str(tmp_path))
    assert found == str(file)
    assert oom_kills(found) == 3
    file.unlink()
    assert oom_kills(found) is None


def test_a_path_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("oom_kill 3\n")
    (tmp_path / "top").mkdir()
    assert oom_kill_file("0::/..\n", str(tmp_path / "top")) is None
