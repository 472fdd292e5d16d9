"""Secrets in command lines and other foreign text become `***`, because people share screens and paste pictures.

Two ways to know a secret: by the name before it (`--api-key x`, `HF_TOKEN=x`, `"password": "x"`), and by its own shape
(the prefixes that the big services give their keys). Names are judged by their words, so `--tokenizer`, `--max_tokens`
and `--author` stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from monitor.word_set import word_set

HIDDEN = "***"

_ALWAYS = word_set(
    "secret secrets password passwords passwd passphrase passcode pwd credential credentials apikey apikeys oauth "
    "authorization bearer authtoken accesskey secretkey privatekey accesstoken cookie"
)
_LAST = frozenset({"token", "key", "auth", "pat", "pass", "pw"})
"""Secret only as the last word of a name: `pad_token_id` and `num_key_value_heads` are none."""
_KEYS_ID = ("access", "key", "id")
"""AWS_ACCESS_KEY_ID, the one secret-like name that goes on after its last word."""
_PLURAL_OWNERS = frozenset({"api", "access", "auth", "hf", "secret", "refresh", "bearer", "github", "private"})
_HARMLESS_BEFORE = {
    "token": word_set(
        "pad eos bos unk mask sep cls image video audio special per stop new num max min next begin end "
        "start first last "
        "prefix suffix fim think eot boundary separator extra additional decoder forced"
    ),
    "key": word_set(
        "text label input image video audio monitor sort dataset primary prompt response column batch metric "
        "target query "
        "question answer output content message data feature id score index group state config foreign"
    ),
    "pass": word_set("num n forward backward single multi two first second one per max"),
    "pat": frozenset(),
    "auth": frozenset(),
    "pw": frozenset(),
}
_PAT_OWNERS = frozenset({"gh", "github", "git", "gitlab", "azure", "ado", "hf"})
_HARMLESS_VALUES = frozenset({"true", "false", "none", "null", HIDDEN})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_[A-Za-z0-9]{16,}"
    r"|sk-[A-Za-z0-9_-]{16,}"
    r"|sk_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|nvapi-[A-Za-z0-9_-]{16,}"
    r"|npm_[A-Za-z0-9]{20,}"
    r"|pypi-[A-Za-z0-9_-]{16,}"
    r"|r8_[A-Za-z0-9]{20,}"
    r"|wandb_v[0-9]_[A-Za-z0-9_]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"
    r")"
)
_URL_PASSWORD = re.compile(r"(://[^\s/:@]{0,256}):[^\s/]{0,1024}@")
_URL_TOKEN = re.compile(r"(://)[^\s/:@]{20,1024}@")
_URL_QUERY = re.compile(r"([?&](?:sig|signature|x-amz-signature|x-amz-credential|x-goog-signature)=)[^&\s#]+", re.I)
_WEBHOOK = re.compile(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)\S+")
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----).*", re.S)
_BEARER = re.compile(r"\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{12,})", re.I)
_LOGIN = re.compile(r"(\b(?:login|wandb)\b[^\n]{0,64}?\s)([0-9a-f]{40})\b", re.I)
_ASSIGNED = re.compile(r"(?<![A-Za-z0-9_.\-])(?P<name>[A-Za-z\-][A-Za-z0-9_.\-]{0,127})\\?[\"']?\s{0,3}[=:]\s{0,3}")
_SPACED = re.compile(r"(?<![A-Za-z0-9_.\-])(?P<name>--?[A-Za-z][A-Za-z0-9_.\-]{0,127})\s+(?!-)")
_VALUE = re.compile(r"\\?\"[^\"]*\"?|\\?'[^']*'?|[^\s,;&|)}\]]+")
_AUTHORIZATION = re.compile(r"(?:[A-Za-z]{1,16}\s+)?\S+")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.\-]{0,127}")
_USER_PASSWORD = re.compile(r"([^\s:]{1,128}):(\S+)")


_HINTS = tuple(
    word_set(
        "token key auth pass pat pw secret credential bearer cookie :// login wandb basic begin "
        "hf_ sk- sk_ ghp_ gho_ ghs_ ghu_ ghr_ akia asia aiza xox nvapi npm_ pypi- r8_ eyj"
    )
)
"""In lower case: a text without any of these holds nothing that is looked for here. Most log lines end at that."""


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Whether an option, variable or key of this name holds a secret, judged by its words."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    if not words:
        return False
    if any(word in _ALWAYS for word in words) and words[-1] not in ("file", "path", "manager", "provider", "type"):
        return True
    if words[-3:] == _KEYS_ID:
        return True
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last in ("tokens", "keys"):
        return before in _PLURAL_OWNERS
    if last not in _LAST:
        return False
    if last == "pat":
        return before in _PAT_OWNERS
    if last == "pass":
        return bool(before) and before not in _HARMLESS_BEFORE[last]
    return before not in _HARMLESS_BEFORE[last]


def _hidden_value(value: str) -> str:
    return value if value.strip("\"'\\").lower() in _HARMLESS_VALUES else HIDDEN


def _hide_values(text: str, named: re.Pattern[str]) -> str:
    """Hide what follows a secret's name. Other values are searched too: they may be commands of their own."""
    parts: list[str] = []
    copied = position = 0
    while found := named.search(text, position):
        position = found.end()
        if not is_secret_name(found["name"]):
            continue
        header = found["name"].lower().endswith("authorization")  # "Authorization: Bearer x": the second word is it
        value = (_AUTHORIZATION if header and text[position : position + 1] not in "\"'" else _VALUE).match(
            text, position
        )
        if value is not None:
            parts += (text[copied:position], _hidden_value(value.group()))
            copied = position = value.end()
    return "".join((*parts, text[copied:]))


def redact(text: str) -> str:
    """The text with every secret shown as `***`. Runs in time linear in the text."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    text = _PRIVATE_KEY.sub(rf"\1{HIDDEN}", text)
    text = _SHAPES.sub(HIDDEN, text)
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)
        text = _URL_TOKEN.sub(rf"\1{HIDDEN}@", text)
        text = _URL_QUERY.sub(rf"\1{HIDDEN}", text)
        text = _WEBHOOK.sub(rf"\1{HIDDEN}", text)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _LOGIN.sub(rf"\1{HIDDEN}", text)
    if "=" in text or ":" in text:
        text = _hide_values(text, _ASSIGNED)
    if "-" in text and " " in text:
        text = _hide_values(text, _SPACED)
    return text


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """An argument vector with its secrets hidden, also those that stand in the argument after their option."""
    shown: list[str] = []
    option = ""
    login = any(word.rsplit("/", 1)[-1] in ("wandb", "login") for word in argv[:6])
    sshpass = bool(argv) and argv[0].rsplit("/", 1)[-1] == "sshpass"
    for word in argv:
        if option and is_secret_name(option) and not _OPTION.fullmatch(word):
            shown.append(_hidden_value(word))
        elif sshpass and option == "-p":
            shown.append(HIDDEN)
        elif option in ("-u", "--user") and (pair := _USER_PASSWORD.fullmatch(word)) and not pair[2].isdigit():
            shown.append(f"{pair[1]}:{HIDDEN}")
        elif login and re.fullmatch(r"[0-9a-f]{40}", word):
            shown.append(HIDDEN)
        else:
            shown.append(redact(word))
        option = word if _OPTION.fullmatch(word) else ""
    return tuple(shown)
