"""Which option a message asks for: the model's word for it, and how alike the examples are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from aouo.providers.tiny.cuts import MAX_PROMPT_CHARS, one_line, word_list
from aouo.providers.tiny.options import Example, Option

TALK = "talk"
MAX_EXAMPLES = 18
NO_MESSAGE = ("N/A", "...", "[message]")
# Weights found on 76 messages over three sets of tools: 58 right by the model's word, 64 by
# likeness, 68 by both; of 19 messages kept apart, 18.
CALIBRATION = 0.8
LIKENESS = 8.0
UNSEEN_LOGPROB = -14.0

_TALKED = (
    "Hello",
    "Why is the sky blue?",
    "Thank you",
    "Tell me a story",
    "Who are you?",
    "How do I bake bread?",
)


def choice_prompt(choices: Sequence[Option], message: str) -> str:
    """The pattern whose next word is the label of an option or `TALK`."""
    labels = [TALK, *(option.label for option in choices)]
    head = f"The assistant can {', '.join(labels[:-1])} or {labels[-1]}.\n\n"
    asked = f'The person says "{one_line(message, 300)}". The assistant should'
    room = MAX_PROMPT_CHARS - len(head) - 350  # not len(asked): the examples stay the same
    shown: list[str] = []
    for said, label in _mixed(choices):
        line = f'The person says "{one_line(said, 100)}". The assistant should {label}.\n'
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    return head + "".join(shown) + asked


def label_logprobs(choices: Sequence[Option], top: Mapping[str, float]) -> dict[str, float]:
    """For each label, the log probability of the best token that begins it."""
    return {
        label: max(
            (logprob for token, logprob in top.items() if _begins(token, label)),
            default=UNSEEN_LOGPROB,
        )
        for label in (TALK, *(option.label for option in choices))
    }


def choose(
    choices: Sequence[Option],
    message: str,
    said: Mapping[str, float],
    said_to_nothing: Mapping[str, float],
) -> Option | None:
    """The option for `message`, None for an answer in words."""
    like = likeness(
        [(TALK, t) for t in _TALKED] + [(o.label, e.message) for o in choices for e in o.examples],
        message,
    )
    given = any(option.given for option in choices)

    def score(label: str) -> float:
        if label == TALK and not given:  # labels made up from a schema promise little
            return said[label] - CALIBRATION * said_to_nothing[label] + LIKENESS / 2
        return said[label] - CALIBRATION * said_to_nothing[label] + LIKENESS * like.get(label, 0.0)

    best = max(said, key=score)
    return next((option for option in choices if option.label == best), None)


def likeness(examples: Sequence[tuple[str, str]], message: str) -> dict[str, float]:
    """For each label 0 to 1: how alike its most alike example is, rare words counting more."""
    known = [(label, _features(text)) for label, text in examples]
    seen = Counter(feature for _, features in known for feature in features)

    def weight(features: frozenset[str]) -> float:
        return sum(math.log(1 + len(known) / seen.get(feature, 0.5)) for feature in features)

    mine = _features(message)
    like: dict[str, float] = {}
    for label, features in known:
        norm = math.sqrt(weight(mine) * weight(features))
        value = weight(mine & features) / norm if norm else 0.0
        like[label] = max(like.get(label, 0.0), value)
    return like


def nearest(option: Option, message: str) -> Example:
    """The example whose arguments serve as the pattern for `message`."""
    like = likeness([(str(at), e.message) for at, e in enumerate(option.examples)], message)
    return max(enumerate(option.examples), key=lambda pair: like[str(pair[0])])[1]


def _mixed(choices: Sequence[Option]) -> list[tuple[str, str]]:
    """Examples of every option in turn, so that no label is the last one five times."""
    talk = [(said, TALK) for said in _TALKED]
    columns = [talk, *([(e.message, o.label) for e in o.examples] for o in choices)]
    rows = [pair for row in zip_longest(*columns) for pair in row if pair]
    return rows[: max(MAX_EXAMPLES, len(columns))]


def _begins(token: str, label: str) -> bool:
    word = token.strip()
    return bool(word) and token.startswith(" ") and label.startswith(word)


def _features(text: str) -> frozenset[str]:
    """Words and pairs of neighbouring words."""
    words = word_list(text)
    pairs = zip(["^", *words], [*words, "$"], strict=True)
    return frozenset(words) | frozenset(f"{a} {b}" for a, b in pairs)
