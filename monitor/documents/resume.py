"""The flag with which a program goes on from a checkpoint. A suggestion for a person; nothing is ever run."""

from __future__ import annotations

import os.path
import re

FRAMEWORKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"pretrain_(?:gpt|bert|t5|mamba|vlm)\.py|megatron"), "--load {folder}"),
    (re.compile(r"fairseq"), "--restore-file {path}"),
    (re.compile(r"(?:train|plain_train|lazyconfig_train)_net\.py|detectron2"), "--resume"),
    (re.compile(r"mmengine|tools/train\.py|mim"), "--resume"),
    (re.compile(r"\btune\b.*\brun\b|torchtune"), "resume_from_checkpoint=True"),
    (re.compile(r"\byolo\b|ultralytics"), "resume=True model={path}"),
    (re.compile(r"train_(?:text_to_image|dreambooth|controlnet)\w*\.py"), "--resume_from_checkpoint latest"),
    (re.compile(r"\w*train_network\.py|train_db\.py"), "--resume {path}"),
)
"""By what stands in a command line; each flag as that project documents it."""
_RESUME = re.compile(r"(-{1,2}[\w.-]{0,64}resume[\w.-]{0,64})(?:=.*)?\Z", re.I)
_HYDRA = re.compile(r"([\w.]{0,64}(?:resume[\w.]{0,64}|ckpt_path))=.*\Z", re.I)


def resume_flag(argv: tuple[str, ...], checkpoint: str) -> str | None:
    """The words to add so that the run goes on from `checkpoint`; `None` where the program's way is not known.

    A flag of the program's own command line wins over the table of projects.
    """
    bounded = argv[:512]
    for index, word in enumerate(bounded[1:], 1):
        flag = _RESUME.match(word)
        if flag:
            valued = "=" in word or (index + 1 < len(bounded) and not bounded[index + 1].startswith("-"))
            if not valued:
                return flag.group(1)
            return f"{flag.group(1)}={checkpoint}" if "=" in word else f"{flag.group(1)} {checkpoint}"
        setting = _HYDRA.match(word)
        if setting:
            return f"{setting.group(1)}={checkpoint}"
    line = " ".join(bounded[:8])[:2000]
    for pattern, flag_text in FRAMEWORKS:
        if pattern.search(line):
            return flag_text.format(path=checkpoint, folder=os.path.dirname(checkpoint) or checkpoint)
    return None
