"""Lines of frameworks that train language models."""

from __future__ import annotations

import re

from monitor.steps.formats.announced import ITER_KEYS, STEP_KEYS
from monitor.steps.formats.line_shape import LineShape, Mark, compiled

BAR_TOTAL = "progress_bar"
"""The name under which the total of a bar over the whole run is announced."""
COMPOSER_EACH = "composer_seconds_per_batch"
TRAIN_TOTALS = ("total_training_steps", *STEP_KEYS, "total_optimization_steps", BAR_TOTAL)
_LEAD = r"^[^'\"`#{}]{0,200}?(?<![\w/.-])"
"""What may stand before a counter: stamps, ranks, names of loggers. No quote and no hash: that is program text."""


def _row(pattern: str) -> re.Pattern[str]:
    return compiled(_LEAD + pattern)


LANGUAGE_LINES: tuple[LineShape, ...] = (
    LineShape(
        "Megatron",
        ("iteration", "elapsed time per iteration (ms)"),
        _row(
            r"iteration {1,12}(?P<n>{N})(?:/ {0,12}(?:(?P<total>{N})|[A-Za-z-]{1,10}))? {0,4}\|"
            r".{0,500}?elapsed time per iteration \(ms\): {0,8}(?P<each>{D})"
        ),
        scale_s=0.001,
        confidence=0.9,
    ),
    LineShape(
        "Megatron",
        ("iteration", "elapsed time per iteration (s)"),
        _row(
            r"iteration {1,12}(?P<n>{N})(?:/ {0,12}(?:(?P<total>{N})|[A-Za-z-]{1,10}))? {0,4}\|"
            r".{0,500}?elapsed time per iteration \(s\): {0,8}(?P<each>{D})"
        ),
        confidence=0.9,
    ),
    LineShape(
        "nanotron",
        ("iteration: ", "elapsed_time_per_iteration_ms"),
        _row(r"iteration: (?P<n>{N}) / (?P<total>{N}) \|(?:.{0,300}?iteration_ms: (?P<each>{D})(?![\d.KM]))?"),
        scale_s=0.001,
    ),
    LineShape(
        "NeMo",
        ("raining epoch ", ", iteration ", " | "),
        _row(
            r"Training epoch {N}, iteration {N}/(?P<total>{N}) \|.{0,300}?global_step: (?P<n>{N})(?:\.0)? ?\|"
            r"(?:.{0,300}?train_step_timing in s: (?P<each>{D}))?"
        ),
        unit="optimizer_step",
        zero_based=True,
        last_is_total=True,
    ),
    LineShape(
        "NeMo",
        ("raining epoch ", ", iteration ", " | "),
        _row(
            r"Training epoch {N}, iteration (?P<n>{N})/(?P<total>{N}) \|"
            r"(?:.{0,300}?train_step_timing in s: (?P<each>{D}))?"
        ),
        zero_based=True,
        last_is_total=True,
    ),
    LineShape(
        "DeepSpeed",
        ("epoch=", "/micro_step=", "/global_step=", "SamplesPerSec="),
        _row(r"epoch={N}/micro_step={N}/global_step=(?P<n>{N}), "),
        unit="optimizer_step",
        totals=TRAIN_TOTALS,
        confidence=0.75,
    ),
    LineShape(
        "DeepSpeed",
        ("step=", ", skipped=", ", lr="),
        _row(r"step=(?P<n>(?!0,){N}), skipped={N}, lr="),
        unit="optimizer_step",
        totals=TRAIN_TOTALS,
        confidence=0.75,
    ),
    LineShape(
        "DeepSpeed pipeline",
        ("steps: ", " loss: ", "iter time (s): "),
        _row(r"steps: (?P<n>{N}) loss: .{1,60}?iter time \(s\): (?P<each>{D})"),
        unit="optimizer_step",
        totals=TRAIN_TOTALS,
    ),
    LineShape(
        "torchtitan",
        ("step: ", "loss: ", "memory: "),
        _row(r"(?<!validate )(?<!validation )step: {1,3}(?P<n>{N}) {1,4}loss: .{0,120}?memory: "),
        totals=("total_training_steps", "training.steps", *STEP_KEYS),
    ),
    LineShape(
        "nanoGPT",
        ("iter ", ": loss ", ", time "),
        _row(r"iter (?P<n>{N}): loss [\w.+-]{1,24}, time (?P<each>{D} ?m?s)\b"),
        totals=ITER_KEYS,
    ),
    LineShape(
        "nanochat",
        ("step ", "| dt: "),
        _row(r"step {1,8}(?P<n>{N})(?:/(?P<total>{N}))?(?: \({D}%\))? \| .{0,200}?\| dt: {1,8}(?P<each>{D}m?s)\b"),
        totals=("num_iterations", *STEP_KEYS),
    ),
    LineShape("build-nanogpt", (" train ",), compiled(r"^(?P<n>{N}) train \d{1,3}\.\d{1,8}$"), confidence=0.6),
    LineShape(
        "llm.c",
        ("step ", "| loss "),
        _row(
            r"step {1,8}(?P<n>{N})/(?P<total>{N}) \| loss [\w.+-]{1,24} "
            r".{0,160}?\| {1,8}(?P<each>{D} ms) ?(?:\||\(|$)"
        ),
    ),
    LineShape(
        "llm.c",
        ("step ", "| train loss "),
        _row(
            r"step {1,8}(?P<n>{N})/(?P<total>{N}) \| train loss [\w.+-]{1,24} "
            r".{0,160}?\| {1,8}(?P<each>{D} ms) ?(?:\||\(|$)"
        ),
    ),
    LineShape(
        "llm.c",
        ("step ", ": train loss ", " (took "),
        _row(r"step (?P<n>{N}): train loss [\w.+-]{1,24} \(took (?P<each>{D} ms)\)"),
    ),
    LineShape(  # "tel" is the loss on held-out data once so many steps are through: the last line of a run is one
        "llm.c file", ("s:", "l:"), compiled(r"^s:(?P<n>{N}) t[re]l:[\d.naif-]{1,24}(?: |$)"), confidence=0.8
    ),
    LineShape(
        "modded-nanogpt",
        ("step:", " train_time:"),
        compiled(
            r"^step:(?P<n>{N})/(?P<total>{N}) (?:\w{1,24}:[\d.naif-]{1,24} ){0,4}train_time:(?P<elapsed>{D}m?s)\b"
        ),
    ),
    LineShape(
        "OLMo",
        ("[step=",),
        _row(r"\[step=(?P<n>{N})(?:/(?P<total>{N}))?(?:,[^\]]{0,120})?\]$"),
        totals=STEP_KEYS,
        confidence=0.9,
    ),
    LineShape(
        "Composer",
        ("[batch=", "/", "]:"),
        compiled(r"^(?:[^'\"`#{}\[]{0,120}?)\[batch=(?P<n>{N})/(?P<total>{N})\]:"),
        each_key=COMPOSER_EACH,
        confidence=0.9,
    ),
    LineShape(
        "Composer",
        ("[epoch=", "[batch=", "]:"),
        _row(r"\[epoch=(?P<epoch>{N})(?:/(?P<epochs>{N}))?\]\[batch=(?P<batch>{N})/(?P<batches>{N})\]:"),
        first_epoch=1,
        each_key=COMPOSER_EACH,
        epoch_totals=("max_duration_epochs", "max_epochs"),
        confidence=0.9,
    ),
    LineShape(
        "MaxText",
        ("completed step: ",),
        _row(r"completed step: (?P<n>{N})(?:, seconds: (?P<each>{D}))?,"),
        zero_based=True,
        totals=STEP_KEYS,
    ),
    LineShape(
        "clu",
        ("Setting work unit notes", " steps/s"),
        _row(r"Setting work unit notes: {D} steps/s, {D}% \((?P<n>{N})/(?P<total>{N})\)"),
    ),
    LineShape(
        "clu",
        ("] ", "=", "loss"),
        compiled(
            r"^(?:[IWEF]\d{4} [^'\"`#{}\[\]]{0,80}\] )?\[(?P<n>{N})\] "
            r"(?=[^'\"`{}]{0,400}loss=)[\w/]{1,40}=[\d.naife+-]{1,24}"
        ),
        totals=STEP_KEYS,
    ),
    LineShape(
        "Levanter",
        ("Progress on:train ", " rate:", " elapsed:"),
        _row(
            r"Progress on:train (?P<n>{N})it/(?:(?P<total>{N})|{D}[kM])it rate:"
            r".{0,60}? elapsed:(?P<elapsed>[\d:]{4,12})"
        ),
        totals=("num_train_steps", *STEP_KEYS),
    ),
    LineShape(
        "Lightning console",
        ("Epoch ", ": ", "e"),
        compiled(
            r"(?:^|[\]:|] |INFO {1,4})Epoch (?P<epoch>{N}): (?:[A-Za-z][\w/]{0,40} {1,2}-?{D}(?:e[-+]\d\d)? {1,4}){2}"
        ),
        unit="epoch",
        when="done",
    ),
    LineShape(
        "torchtune",
        ("Step ", " | loss:"),
        compiled(r"^Step (?P<n>{N}) \| (?:[\w/]{1,40}:[\d.naife+-]{1,24} ){0,12}?loss:"),
        unit="optimizer_step",
    ),
    LineShape(
        "verl",
        ("step:", " - "),
        _row(r"step:(?P<n>{N}) - (?!val[-_/])[\w/@.-]{1,80}:(?:np\.\w{1,12}\()?[\d.naife+-]{1,24}"),
        unit="optimizer_step",
        totals=TRAIN_TOTALS,
        each=compiled(r"timing_s/step:(?:np\.\w{1,12}\()?({D})"),
        confidence=0.9,
    ),
    LineShape(
        "NeMo-RL", ("===", " Step "), compiled(r"^={8,60} Step (?P<n>{N})/(?P<total>{N}) ={8,60}$"), confidence=0.8
    ),
    LineShape(
        "OpenRLHF", ("lobal step ", ": {'"), compiled(r"^[^\w'\"#`]{0,4}Global step (?P<n>{N}): \{'"), confidence=0.9
    ),
    LineShape(
        "prime-rl",
        ("Step ", " | Time: ", " | "),
        _row(r"Step (?P<n>{N}) \| Time: (?P<each>{D}s) \| "),
        totals=STEP_KEYS,
    ),
    LineShape(
        "LitGPT",
        (" iter ", " step ", "iter time: "),
        _row(r"(?:Epoch {N} \| )?iter {N} step (?P<n>{N})(?: \||:) .{0,120}?iter time: "),
        unit="optimizer_step",
        totals=STEP_KEYS,
    ),
    LineShape(
        "LitGPT",
        ("iter ", " step ", "iter time: "),
        _row(r"iter {N} step (?P<n>{N}): .{0,120}?iter time: "),
        unit="optimizer_step",
        totals=STEP_KEYS,
    ),
)

LANGUAGE_MARKS: tuple[Mark, ...] = (
    Mark("Megatron", ("validation loss at ",), _row(r"validation loss at iteration {1,4}{N}"), phase="evaluating"),
    Mark("Megatron", ("saving checkpoint at iteration",), _row(r"saving checkpoint at iteration"), phase="saving"),
    Mark("Megatron", ("exiting program ",), _row(r"exiting program (?:at iteration|after) "), ended="finished"),
    Mark(
        "NeMo", ("alidation epoch ", ", iteration "), _row(r"Validation epoch {N}, iteration {N}/"), phase="evaluating"
    ),
    Mark("torchtitan", ("valid", "step: "), _row(r"validat(?:e|ion) step: {1,3}{N}"), phase="evaluating"),
    Mark(
        "nanoGPT",
        ("step ", ": train loss ", ", val loss "),
        _row(r"step {N}: train loss .{1,24}, val loss"),
        phase="evaluating",
    ),
    Mark("nanochat", ("tep ", "alidation "), _row(r"[Ss]tep {N} \| Validation "), phase="evaluating"),
    Mark("build-nanogpt", (" ",), compiled(r"^{N} (?:val|hella) \d{1,3}\.\d{1,8}$"), phase="evaluating"),
    Mark("nanochat", ("Total training time: ",), compiled(r"^Total training time: {D}m$"), ended="finished"),
    Mark(
        "llm.c",
        ("total average iteration time: ",),
        compiled(r"^total average iteration time: {D} ms"),
        ended="finished",
    ),
    Mark("modded-nanogpt", ("stopping_early: ",), compiled(r"^stopping_early: \w"), ended="finished"),
    Mark("OLMo", ("eval_step=",), _row(r"\[eval_step={N}"), phase="evaluating"),
    Mark("Composer", ("[Eval batch=",), _row(r"\[Eval batch={N}"), phase="evaluating"),
    Mark(
        "MaxText",
        ("eval ", "step"),
        _row(r"(?:Completed eval after train step|eval metrics after step:) {N}"),
        phase="evaluating",
    ),
    Mark("verl", ("step:", " - val"), _row(r"step:{N} - val[-_/]"), phase="evaluating"),
    Mark("DeepSpeed", ("Evaluat", "Results at step"), _row(r"Evaluation Results at step {N}"), phase="evaluating"),
)
