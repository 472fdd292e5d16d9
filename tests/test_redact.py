"""All secrets here are invented."""

from __future__ import annotations

import itertools
import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor import redact as redaction
from monitor.redact import HIDDEN, is_secret_name, redact, redact_argv
from monitor.word_set import word_set

HF = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm"
OPENAI = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0"
GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ"
AWS = "AKIA" + "ABCDEFGHIJKLMNOP"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
WANDB = "0123456789abcdef0123456789abcdef01234567"
PLAIN = "hunter2-correct-horse"

_OPTIONS = word_set(
    "--api-key --api_key --token --hf_token --hf-token --auth --auth_token --password --passwd --secret "
    "--client-secret --credential --credentials --wandb_key --wandb-api-key --key --access_key --private-key "
    "--hub_token --db-pass --github-pat --pw --ApiKey --accessToken --use_auth_token"
)
_VARIABLES = word_set(
    "HF_TOKEN WANDB_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN OPENAI_API_KEY "
    "DB_PASSWORD MY_SECRET GITHUB_TOKEN GH_PAT KAGGLE_KEY COMET_API_KEY REDIS_PASS trainer.hub_token +logger.api_key"
)
_SHAPES = (
    f"python train.py {HF}",
    f"python train.py --x={OPENAI}",
    f"git clone https://{GITHUB}@example.org/a.git",
    f"git clone https://oauth2:{PLAIN}@example.org/a.git",
    f"python train.py --data s3://{AWS}:{PLAIN}@bucket/x",
    f"python t.py postgres://me:{PLAIN}@db.example.org:5432/runs",
    f"python t.py --dsn=mysql://me:p@{PLAIN}@db/x",
    f"curl -H 'Authorization: Bearer {JWT}' http://x",
    f"curl -H 'Authorization: Bearer {PLAIN}' http://x",
    f"curl -H 'X-Api-Key: {PLAIN}' http://x",
    f"curl -u me:{PLAIN} http://x",
    f"curl --user me:{PLAIN} http://x",
    f"wandb login {WANDB}",
    f"wandb login --relogin {WANDB}",
    f"python -m wandb login {WANDB}",
    f"sshpass -p {PLAIN} ssh node",
    f'python t.py --config \'{{"api_key": "{PLAIN}", "lr": 1}}\'',
    f"python t.py --cfg 'token: {PLAIN}'",
    f"python t.py {JWT}",
    f"python t.py {AWS}",
    f"curl 'https://x.blob.example.org/c?sv=1&sig={PLAIN}&se=2'",
    f"curl https://hooks.slack.com/services/T0/B0/{PLAIN}",
    f"python t.py glpat-{'a' * 20}",
    f"python t.py nvapi-{'b' * 30}",
    f"python t.py xoxb-{'1' * 20}",
)
_INNER = (
    "bash -c 'export HF_TOKEN={0}; python train.py'",
    "sh -c 'WANDB_API_KEY={0} python train.py --lr 1e-4'",
    "bash -lc 'python train.py --api-key {0} --epochs 3'",
    "ssh node 'export OPENAI_API_KEY=\"{0}\" && run'",
    "env SECRET_KEY={0} python train.py",
    "docker run -e HF_TOKEN={0} image",
    "xterm --command='python t.py --api-key={0} --lr 1'",
    "launch --cmd 'python t.py --lr=1 --auth_token {0}'",
    "sbatch --wrap='HF_TOKEN={0} srun python t.py'",
)


def corpus() -> list[tuple[str, str]]:
    """Command lines and the secret in each."""
    lines = [(f"python train.py {option} {PLAIN} --lr 3", PLAIN) for option in sorted(_OPTIONS)]
    lines += [(f"python train.py {option}={PLAIN}", PLAIN) for option in sorted(_OPTIONS)]
    lines += [(f"env {variable}={PLAIN} python train.py", PLAIN) for variable in sorted(_VARIABLES)]
    lines += [(line.format(PLAIN), PLAIN) for line in _INNER]
    for line in _SHAPES:
        secrets = (HF, OPENAI, GITHUB, JWT, WANDB, AWS, PLAIN, "a" * 20, "b" * 30, "1" * 20)
        lines += [(line, secret) for secret in secrets if secret in line]
    return lines


def test_no_secret_of_the_corpus_survives() -> None:
    lines = corpus()
    assert len(lines) >= 100
    left = [line for line, secret in lines if secret in " ".join(redact_argv(shlex.split(line)))]
    assert left == []


def test_no_secret_of_the_corpus_survives_in_one_text() -> None:
    """A log line or a renamed process holds the whole command line as one text."""
    needs_argv = ("sshpass -p", "curl -u", "curl --user")
    left = [line for line, secret in corpus() if secret in redact(line) and not line.startswith(needs_argv)]
    assert left == []


HARMLESS = (
    "python train.py --tokenizer foo --max_tokens 4096 --num_tokens 100 --author someone --tokens_per_step 5",
    "python train.py --pad_token_id 0 --eos_token </s> --special_tokens a,b --tokenizer_path /x --image_token <img>",
    "python train.py --num_key_value_heads 8 --text_key content --label-key y --monitor_key loss --keys a,b",
    "python train.py --stop_token 3 --min_new_tokens 3 --tokens 1e12 --passes 3 --num_pass 2 --forward_pass 1",
    "python train.py model.tokenizer=gpt2 data.text_key=text trainer.max_tokens=4096 lr=1e-4 seed=1",
    "TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=8 python train.py --data http://example.org:8080/a/b",
    "python -m torch.distributed.run --rdzv-endpoint=localhost:29500 --nproc_per_node=8 train.py --task-ids 1",
    "git checkout 0123456789abcdef0123456789abcdef01234567",
    "python eval.py --author=x --authority y --keyboard z --monkey w --secretary v",
    "{'loss': 2.31, 'tokens_per_second': 1200.5, 'epoch': 0.1}",
    "step 10/100 loss: 2.5 tokens: 4096 key_frames=3 tok/s=1300",
    "python risk-analysis-tool.py --disk-usage-of-all-volumes-now 3",
    "docker run -u 1000:1000 image",
    "python train.py --use_auth_token True",
)


@pytest.mark.parametrize("line", HARMLESS)
def test_nothing_else_is_hidden(line: str) -> None:
    words = tuple(shlex.split(line, posix=False))
    assert redact_argv(words) == words
    assert redact(line) == line


def test_what_is_beside_a_secret_stays() -> None:
    argv = ("python", "train.py", "--api-key", PLAIN, "--lr", "3e-4", f"--hub_token={HF}", "out")
    assert redact_argv(argv) == (
        "python",
        "train.py",
        "--api-key",
        HIDDEN,
        "--lr",
        "3e-4",
        f"--hub_token={HIDDEN}",
        "out",
    )
    assert redact(f"postgres://me:{PLAIN}@db:5432/x") == f"postgres://me:{HIDDEN}@db:5432/x"
    # An option without a value takes none away.
    assert redact_argv(("x", "--use-token", "--lr", "1")) == ("x", "--use-token", "--lr", "1")


@given(st.text(max_size=400))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.lists(st.text(max_size=40), max_size=20))
def test_an_argument_stays_an_argument(argv: list[str]) -> None:
    assert len(redact_argv(argv)) == len(argv)


def test_hostile_texts_are_linear() -> None:
    for piece in ("a-", "--token ", "://", "x:", '="', "eyJ", "key=", "-----BEGIN ", "wandb "):
        text = "".join(itertools.repeat(piece, 16_384 // len(piece)))
        began = time.thread_time()
        redact(text)
        assert time.thread_time() - began < 0.5, piece


@pytest.mark.parametrize(
    ("name", "secret"), [("HF_TOKEN", True), ("tokenizer", False), ("apiKey", True), ("", False), ("-", False)]
)
def test_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_every_name_and_shape_passes_the_quick_look() -> None:
    """The quick look may let much through, but never stop what the slow one would hide."""
    words = (*redaction._ALWAYS, *redaction._LAST)
    assert [word for word in words if not any(hint in word for hint in redaction._HINTS)] == []
