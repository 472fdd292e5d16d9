"""Lines of vision frameworks. From their sources and their logs; nothing here names a total that a line lacks."""

from __future__ import annotations

import re

from monitor.steps.formats.announced import ITER_KEYS
from monitor.steps.formats.line_shape import LineShape, Mark, compiled

_TIME = re.compile(r"\btime: {0,2}(\d{1,6}\.\d{1,9})")
_TIME_S = re.compile(r"\bTime:? {1,3}(\d{1,6}\.\d{1,9})")
_COST = re.compile(r"\b(?:avg_)?batch_cost: (\d{1,6}\.\d{1,9})")
_LAST_TIME = re.compile(r"^(?:.{0,1500}?\blast_time: |.{0,1500}?\btime: )(\d{1,6}\.\d{1,9})")

VISION_LINES: tuple[LineShape, ...] = (
    LineShape(
        "Detectron2",
        ("iter: ", "total_loss: "),
        compiled(r"(?:^|\s)(?:eta: .{1,30}?\s{1,2})?iter: (?P<n>{N})\s{1,2}.{0,300}?total_loss: "),
        totals=ITER_KEYS,
        each=_LAST_TIME,
    ),
    LineShape(
        "mmengine",
        ("Epoch(train)",),
        compiled(r"Epoch\(train\) {1,8}\[ {0,8}(?P<epoch>{N})\]\[ {0,8}(?P<batch>{N})/(?P<batches>{N})\]"),
        first_epoch=1,
        each=_TIME,
    ),
    LineShape(
        "mmengine",
        ("Iter(train)",),
        compiled(r"Iter\(train\) {1,8}\[ {0,8}(?P<n>{N})/ {0,8}(?P<total>{N})\]"),
        each=_TIME,
    ),
    LineShape(
        "mmcv",
        ("Epoch [", "lr: ", "time: "),
        compiled(r"Epoch \[(?P<epoch>{N})\]\[ {0,8}(?P<batch>{N})/(?P<batches>{N})\]\s{1,4}lr: "),
        first_epoch=1,
        each=_TIME,
    ),
    LineShape(
        "mmcv",
        ("Iter [", "lr: "),
        compiled(r"Iter \[ {0,8}(?P<n>{N})/ {0,8}(?P<total>{N})\]\s{1,4}lr: "),
        each=_TIME,
    ),
    LineShape(
        "YOLOX",
        ("epoch: ", "iter: ", "iter_time: "),
        compiled(
            r"epoch: (?P<epoch>{N})/(?P<epochs>{N}), iter: (?P<batch>{N})/(?P<batches>{N}), .{0,200}?"
            r"iter_time: (?P<each>{D})s"
        ),
        first_epoch=1,
    ),
    LineShape(
        "timm",
        ("Train: ", "%)]"),
        compiled(
            r"Train: (?P<epoch>{N})(?:/(?P<epochs>{N}))? "
            r"\[ {0,8}(?P<batch>{N})/ {0,8}(?P<batches>{N}) \( {0,3}\d{1,3}%\)\]"
        ),
        first_epoch=0,
        each=_TIME_S,
    ),
    LineShape(
        "OpenPCDet",
        ("Train: ", "%) ["),
        compiled(
            r"Train: {1,8}(?P<epoch>{N})/(?P<epochs>{N}) \( {0,3}\d{1,3}%\) "
            r"\[ {0,8}(?P<batch>{N})/ {0,8}(?P<batches>{N}) \("
        ),
        first_epoch=1,
        each=re.compile(r"\bBatch time: (\d{1,6}\.\d{1,9})"),
    ),
    LineShape(
        "MetricLogger",
        ("Epoch: [", "eta: "),
        compiled(
            r"Epoch: ?\[(?P<epoch>{N})(?:/(?P<epochs>{N}))?\] {1,8}"
            r"\[ {0,8}(?P<batch>{N})/ {0,8}(?P<batches>{N})\] {1,4}eta: "
        ),
        first_epoch=0,
        each=_TIME,
    ),
    LineShape(
        "MetricLogger",
        ("Epoch: [", "Total time: "),
        compiled(r"Epoch: ?\[(?P<epoch>{N})(?:/(?P<epochs>{N}))?\] Total time: "),
        first_epoch=0,
        when="done",
    ),
    LineShape(
        "Swin",
        ("Train: [", "]["),
        compiled(r"Train: \[(?P<epoch>{N})/(?P<epochs>{N})\]\[ {0,8}(?P<batch>{N})/(?P<batches>{N})\]"),
        first_epoch=0,
        each=re.compile(r"\btime (\d{1,6}\.\d{1,9})"),
    ),
    LineShape(
        "PaddleDetection",
        ("Epoch: [", "batch_cost: "),
        compiled(r"Epoch: \[(?P<epoch>{N})\] \[ {0,8}(?P<batch>{N})/ {0,8}(?P<batches>{N})\]"),
        first_epoch=0,
        each=_COST,
    ),
    LineShape(
        "PaddleSeg",
        ("[TRAIN]", "iter: "),
        compiled(r"\[TRAIN\] (?:epoch: {N}(?:/{N})?, )?iter: (?P<n>{N})/(?P<total>{N})"),
        each=_COST,
    ),
    LineShape(
        "PaddleClas",
        ("[Train][Epoch ", "[Iter: "),
        compiled(
            r"\[Train\]\[Epoch (?P<epoch>{N})/(?P<epochs>{N})\]\[Iter: {0,4}(?P<batch>{N})/ {0,4}(?P<batches>{N})\]"
        ),
        first_epoch=1,
        each=_COST,
    ),
    LineShape(
        "PaddleOCR",
        ("epoch: [", "global_step: "),
        compiled(r"epoch: \[(?P<epoch>{N})/(?P<epochs>{N})\], global_step: (?P<n>{N})"),
        each=_COST,
    ),
    LineShape(
        "BasicSR",
        ("epoch:", "iter:", "lr:"),
        compiled(r"[<\[(]epoch: {0,8}(?P<epoch>{N}), iter: {0,12}(?P<n>{N}), lr:"),
        totals=ITER_KEYS,
        each=re.compile(r"\btime \(data\): (\d{1,6}\.\d{1,9})"),
    ),
    LineShape(
        "CycleGAN",
        ("End of epoch ", "Time Taken: "),
        compiled(r"End of epoch (?P<epoch>{N}) / (?P<epochs>{N}) \s{0,4}Time Taken: (?P<lasted>{D}) sec"),
        unit="epoch",
        first_epoch=1,
        when="done",
    ),
    LineShape(
        "CycleGAN",
        ("(epoch: ", "iters: ", "time: "),
        compiled(r"\(epoch: (?P<epoch>{N}), iters: (?P<batch>{N}), time: "),
        first_epoch=1,
    ),
    LineShape(
        "DCGAN",
        ("[", "]["),
        compiled(r"^\[(?P<epoch>{N})/(?P<epochs>{N})\] ?\[(?P<batch>{N})/(?P<batches>{N})\]"),
        confidence=0.7,
    ),
    LineShape(
        "PyTorch-GAN",
        ("[Epoch ", "] [Batch "),
        compiled(r"\[Epoch (?P<epoch>{N})/(?P<epochs>{N})\] \[Batch (?P<batch>{N})/(?P<batches>{N})\]"),
    ),
    LineShape(
        "MXNet",
        ("Epoch[", "] Batch ["),
        compiled(r"Epoch\[(?P<epoch>{N})\] Batch ?\[(?:{N}-)?(?P<batch>{N})\]"),
        first_epoch=0,
    ),
    LineShape(
        "MXNet",
        ("Epoch[", "Time cost="),
        compiled(r"Epoch\[(?P<epoch>{N})\] Time cost=(?P<lasted>{D})"),
        unit="epoch",
        first_epoch=0,
        when="done",
    ),
    LineShape(
        "Darknet",
        (" avg", " rate, ", " seconds, ", " images"),
        compiled(r"^ ?(?P<n>{N}): {D}, {D} avg(?: loss)?, [\d.e-]{1,16} rate, (?P<each>{D}) seconds, "),
        totals=ITER_KEYS,
    ),
    LineShape(
        "Caffe",
        ("Iteration ", " iter/s, "),
        compiled(r"Iteration (?P<n>{N}) \({D} iter/s, (?P<since>{D})s/\d{1,9} iters?\), loss = "),
        totals=ITER_KEYS,
    ),
    LineShape(
        "StyleGAN",
        ("tick ", "kimg ", "sec/tick "),
        compiled(r"^ ?tick {N}\s{1,8}kimg (?P<n>{D})\s.{0,80}?\btime (?P<elapsed>(?:\d{1,6}[dhms] {0,2}){1,4})"),
        totals=("total_kimg",),
    ),
    LineShape(
        "nerfstudio",
        ("%) ", " ms"),
        compiled(r"^(?P<n>{N}) \(\d{1,3}\.\d{1,3}%\)\s{1,40}(?P<each>{D}) ms\b"),
        scale_s=0.001,
    ),
)

VISION_MARKS: tuple[Mark, ...] = (
    Mark("mmengine", ("(val)",), compiled(r"\b(?:Epoch|Iter)\((?:val|test)\)"), phase="evaluating"),
    Mark("mmcv", ("task/s",), compiled(r"\] {1,2}{N}/{N}, {D} task/s"), phase="evaluating"),
    Mark(
        "MetricLogger",
        ("Test", "["),
        compiled(r"\bTest(?: \(EMA\))?: {1,3}(?:\d{1,9} )?\[ {0,8}{N}/ ?{N}"),
        phase="evaluating",
    ),
    Mark("Caffe", ("Testing net",), compiled(r"Iteration {N}, Testing net \(#\d"), phase="evaluating"),
    Mark("Detectron2", ("Start inference on",), compiled(r"Start inference on {N} batches"), phase="evaluating"),
    Mark("Detectron2", ("Inference done ",), compiled(r"Inference done {N}/{N}\."), phase="evaluating"),
    Mark("timm", ("*** Best metric: ",), compiled(r"\*\*\* Best metric: "), ended="finished"),
    Mark(
        "MetricLogger",
        ("Training time ",),
        compiled(r"(?:^|[-:|] )Training time:? (?:{N} days?, )?\d{1,4}:\d\d:\d\d$"),
        ended="finished",
    ),
)
