"""The stores that a file is recognised as, in order. A new store is one file and its line here."""

from __future__ import annotations

from monitor.steps.stores.catboost import TimeLeft, is_time_left
from monitor.steps.stores.event_file import EventFile, is_event_file
from monitor.steps.stores.json_lines import JsonLines, is_json_lines
from monitor.steps.stores.mlflow_metric import MlflowMetric, is_mlflow_metric
from monitor.steps.stores.sb3_monitor import Monitor, is_monitor
from monitor.steps.stores.store import StoreKind
from monitor.steps.stores.table import Table, is_table
from monitor.steps.stores.trainer_state import TrainerState, is_trainer_state
from monitor.steps.stores.wandb_file import WandbFile, is_wandb_file

HEAD_BYTES = 16 * 1024

STORES: tuple[StoreKind, ...] = (
    StoreKind("tensorboard", is_event_file, EventFile),
    StoreKind("wandb", is_wandb_file, WandbFile),
    StoreKind("trainer_state", is_trainer_state, TrainerState),
    StoreKind("json_lines", is_json_lines, JsonLines),
    StoreKind("sb3_monitor", is_monitor, Monitor),
    StoreKind("catboost", is_time_left, TimeLeft),
    StoreKind("table", is_table, Table),
    StoreKind("mlflow", is_mlflow_metric, MlflowMetric),
)


def kind_of(name: str, head: bytes) -> StoreKind | None:
    """The store that a file of this base name and beginning is; `None` for texts and everything else."""
    return next((kind for kind in STORES if kind.matches(name, head)), None)
