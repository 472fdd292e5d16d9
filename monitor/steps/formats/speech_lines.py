"""Lines of speech, translation, reinforcement learning and classic frameworks."""

from __future__ import annotations

import re

from monitor.steps.formats.announced import ITER_KEYS, ROUND_KEYS, STEP_KEYS, UPDATE_KEYS
from monitor.steps.formats.line_shape import LineShape, Mark, compiled

SPEECH_LINES: tuple[LineShape, ...] = (
    LineShape(
        "fairseq",
        ("epoch ", "num_updates="),
        compiled(
            r"\bepoch (?P<epoch>\d{1,9}): {1,12}(?P<batch>{N}) / (?P<batches>{N}) .{0,600}?"
            r"\bnum_updates=(?P<n>{N})(?:.{0,300}?\bwall=(?P<elapsed>[1-9]\d{0,9}))?"
        ),
        unit="optimizer_step",
        first_epoch=1,
        totals=UPDATE_KEYS,
    ),
    LineShape(
        "fairseq",
        ("| epoch ", "| num_updates ", "| train_wall "),
        compiled(r"\btrain \| epoch (?P<epoch>\d{1,9}) \| .{0,900}?\| num_updates (?P<n>{N}) \|"),
        unit="optimizer_step",
        first_epoch=1,
        totals=UPDATE_KEYS,
    ),
    LineShape(
        "fairseq2",
        ("rain", "etrics (step "),
        compiled(r"\b[Tt]rain(?:ing)? [Mm]etrics \(step (?P<n>{N})\)"),
        totals=("max_num_steps", *STEP_KEYS),
    ),
    LineShape(
        "ESPnet",
        ("epoch started",),
        compiled(r"\b(?P<epoch>{N})/(?P<epochs>{N})epoch started"),
        unit="epoch",
        first_epoch=1,
        when="begin",
    ),
    LineShape(
        "ESPnet",
        ("epoch results: ", "[train]"),
        compiled(r"\b(?P<epoch>{N})epoch results: "),
        unit="epoch",
        first_epoch=1,
        when="done",
    ),
    LineShape(
        "ESPnet",
        ("epoch:train:", "batch: "),
        compiled(r"\b(?P<epoch>{N})epoch:train:{N}-(?P<batch>{N})batch: "),
        first_epoch=1,
    ),
    LineShape(
        "FunASR",
        ("train, rank: ", "step_in_epoch: "),
        compiled(
            r"train, rank: \d{1,5}, epoch: (?P<epoch>{N})/(?P<epochs>{N}), data_slice: 0/1, "
            r"step_in_slice: (?P<batch>{N})/(?P<batches>{N}), .{0,60}?total step: (?P<n>{N})"
        ),
        unit="micro_batch",
        first_epoch=0,
    ),
    LineShape(
        "FunASR",
        ("train, rank: ", "total step: "),
        compiled(r"train, rank: \d{1,5}, epoch: (?P<epoch>{N})/{N}, .{0,120}?total step: (?P<n>{N})"),
        unit="micro_batch",
        first_epoch=0,
    ),
    LineShape(
        "WeNet",
        ("TRAIN ", "Batch ", "loss "),
        compiled(r"\bTRAIN (?:\|.{0,40}?\| ?)?Batch {N}/{N} "),
        first_epoch=0,
    ),
    LineShape(
        "WeNet",
        ("Epoch ", " TRAIN info lr "),
        compiled(r"\bEpoch (?P<epoch>{N}) TRAIN info lr "),
        unit="epoch",
        first_epoch=0,
        when="begin",
    ),
    LineShape(
        "icefall",
        ("Epoch ", ", batch ", "tot_loss["),
        compiled(r"\bEpoch (?P<epoch>{N}), batch (?P<batch>{N}), "),
        first_epoch=1,
    ),
    LineShape(
        "Coqui",
        ("STEP: ", "GLOBAL_STEP: "),
        compiled(r"--(?:>|.{0,40} --) STEP: (?P<batch>{N})/(?P<batches>{N}) -- GLOBAL_STEP: (?P<n>{N})"),
        first_epoch=0,
    ),
    LineShape(
        "Tacotron",
        ("Train loss ", "Grad Norm "),
        compiled(r"^Train loss (?P<n>{N}) {D} Grad Norm {D} (?P<each>{D})s/it"),
    ),
    LineShape(
        "OpenNMT",
        ("Step ", "; lr:"),
        compiled(r"\bStep {1,8}(?P<n>{N})/ {0,8}(?P<total>{N});(?:.{0,400}; {1,8}(?P<elapsed>{N}) sec)?"),
        unit="optimizer_step",
    ),
    LineShape(
        "OpenNMT",
        ("Epoch ", "; acc: ", " s elapsed"),
        compiled(r"\bEpoch {1,4}(?P<epoch>{N}), {1,8}(?P<batch>{N})/ {0,8}(?P<batches>{N}); acc:"),
        first_epoch=1,
    ),
    LineShape(
        "Marian",
        ("Ep. ", " : Up. ", " : Cost "),
        compiled(r"\bEp\. (?P<epoch>{N}) : Up\. (?P<n>{N}) : .{0,160}?(?:Time (?P<since>{D})s|$)"),
        unit="optimizer_step",
        totals=("after_batches",),
    ),
    LineShape(
        "Estimator",
        ("step = ", " sec)"),
        compiled(r"\bstep = (?P<n>{N})(?:, .{1,80})? \((?P<since>{D}) sec\)"),
        totals=(*STEP_KEYS, *ITER_KEYS),
    ),
    LineShape(
        "TF-Slim",
        ("global step ", "sec/step)"),
        compiled(r"\bglobal step (?P<n>{N}): loss = [\d.naif-]{1,16} \((?P<each>{D}) sec/step\)"),
        totals=STEP_KEYS,
    ),
    LineShape(
        "TF object detection",
        ("Step ", " per-step time "),
        compiled(r"\bStep (?P<n>{N}) per-step time (?P<each>{D})s"),
        totals=STEP_KEYS,
    ),
    LineShape(
        "flair",
        ("epoch ", " - iter ", "samples/sec: "),
        compiled(
            r"\bepoch (?P<epoch>{N}) - iter (?P<batch>{N})/(?P<batches>{N}) - .{0,120}?time \(sec\): (?P<lasted>{D})"
        ),
        first_epoch=1,
    ),
    LineShape(
        "flair", ("EPOCH ", " done: loss "), compiled(r"\bEPOCH (?P<epoch>{N}) done: loss "), first_epoch=1, when="done"
    ),
    LineShape(
        "word language model",
        ("| epoch ", " batches |"),
        compiled(
            r"\| epoch {1,4}(?P<epoch>{N}) \| {1,8}(?P<batch>{N})/ {0,8}(?P<batches>{N}) batches \|"
            r"(?:.{0,60}?ms/batch {1,4}(?P<each>{D}))?"
        ),
        first_epoch=1,
        scale_s=0.001,
    ),
    LineShape(
        "rl_games",
        ("fps step: ", "epoch: "),
        compiled(r"\bfps step: .{0,120}?\bepoch: (?P<n>{N})(?:/(?P<total>{N}))?(?= |$)"),
    ),
    LineShape(
        "rsl_rl",
        ("Learning iteration ",),
        compiled(r"Learning iteration (?P<n>{N})/(?P<total>{N})"),
        elapsed_after=re.compile(r"^(?:Total time|Time elapsed): {1,40}(\d{1,9}(?:\.\d{1,6})?s|\d{1,6}:\d\d:\d\d)$"),
    ),
    LineShape(
        "XGBoost",
        ("[", "-", ":"),
        compiled(
            r"^(?:\[\d\d:\d\d:\d\d\] )?\[(?P<n>{N})\](?:\s{1,4}|#011)[\w-]{1,40}-[\w@.-]{1,40}:[\d.naife+-]{1,20}"
        ),
        zero_based=True,
        totals=ROUND_KEYS,
    ),
    LineShape(
        "LightGBM",
        ("[", "'s ", ": "),
        compiled(r"^(?:\[LightGBM\] )?\[(?P<n>{N})\]\s{1,4}\w{1,40}'s [\w@.-]{1,40}: "),
        totals=ROUND_KEYS,
    ),
    LineShape("LightGBM", ("[", "cv_agg's", ": "), compiled(r"^\[(?P<n>{N})\]\s{1,4}cv_agg's "), totals=ROUND_KEYS),
    LineShape(
        "CatBoost",
        (": ", "total: ", "remaining: "),
        compiled(
            r"^(?P<n>{N}):\s.{0,300}?total: (?P<elapsed>[\d.dhmus ]{2,24}?)\s{1,4}"
            r"remaining: (?P<left>[\d.dhmus ]{2,24})$"
        ),
        zero_based=True,
        confidence=0.9,
    ),
)

SPEECH_MARKS: tuple[Mark, ...] = (
    Mark("fairseq", ("valid",), re.compile(r"\| valid \| epoch \d|\bbegin validation on\b"), phase="evaluating"),
    Mark("fairseq", ("done training in ",), re.compile(r"\bdone training in [\d.]{1,16} seconds"), ended="finished"),
    Mark("fairseq2", ("alid", "etrics ("), re.compile(r"\b[Vv]alid(?:ation)? [Mm]etrics \("), phase="evaluating"),
    Mark("ESPnet", ("epoch:valid:",), compiled(r"\b{N}epoch:valid:"), phase="evaluating"),
    Mark("WeNet", ("CV ", "Batch "), compiled(r"\bCV (?:\|.{0,40}?\| ?)?Batch {N}/{N} "), phase="evaluating"),
    Mark("icefall", ("Computing validation loss",), re.compile(r"Computing validation loss"), phase="evaluating"),
    Mark("Coqui", ("> EPOCH: ",), compiled(r"> EPOCH: (?P<epoch>{N})/(?P<epochs>{N})"), epochs=True),
    Mark("Coqui", ("> EVALUATION",), re.compile(r"> EVALUATION"), phase="evaluating"),
    Mark("FunASR", ("val, rank: ",), re.compile(r"\bval, rank: \d"), phase="evaluating"),
    Mark(
        "XGBoost",
        ("Stopping. Best iteration",),
        re.compile(r"^(?:\[\d\d:\d\d:\d\d\] )?Stopping\. Best iteration"),
        ended="finished",
    ),
    Mark(
        "LightGBM",
        ("arly stopping", "est iteration is:"),
        re.compile(r"(?:Early stopping, best|Did not meet early stopping\. Best) iteration is:"),
        ended="finished",
    ),
    Mark("CatBoost", ("bestTest = ",), re.compile(r"^bestTest = "), ended="finished"),
    Mark(
        "CatBoost",
        ("Stopped by overfitting detector",),
        re.compile(r"^Stopped by overfitting detector"),
        ended="finished",
    ),
    Mark(
        "spaCy",
        ("Saved pipeline to output directory",),
        re.compile(r"Saved pipeline to output directory"),
        ended="finished",
    ),
)
