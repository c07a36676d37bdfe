"""Chooses one of several options for a message: by the model's probabilities and the likeness."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from aouo.providers.tiny.cuts import MAX_PROMPT_CHARS, one_line, word_list
from aouo.providers.tiny.options import Option

MAX_EXAMPLES = 18
NO_MESSAGE = ("N/A", "...", "[message]")
CALIBRATION = 0.8
LIKENESS = 8.0
UNSEEN_LOGPROB = -14.0


def choice_prompt(choices: Sequence[Option], message: str) -> str:
    """Return a prompt whose next word is the label of an option."""
    labels = [option.label for option in choices]
    head = f"The assistant can {', '.join(labels)}.\n\n"
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
    """Return for each label the log probability of the best token that begins it."""
    return {
        option.label: max(
            (logprob for token, logprob in top.items() if _begins(token, option.label)),
            default=UNSEEN_LOGPROB,
        )
        for option in choices
    }


def choose(
    choices: Sequence[Option],
    message: str,
    said: Mapping[str, float],
    said_to_nothing: Mapping[str, float],
) -> Option:
    """Return the likeliest option for `message`, which all of them fit."""
    like = likeness([(o.label, e.message) for o in choices for e in o.examples], message)

    def score(option: Option) -> float:
        own = said[option.label] - CALIBRATION * said_to_nothing[option.label]
        return own + LIKENESS * like.get(option.label, 0.0)

    return max(choices, key=score)


def likeness(examples: Sequence[tuple[str, str]], message: str) -> dict[str, float]:
    """Return for each label the likeness, 0 to 1, of its nearest example; rare words weigh more."""
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


def _mixed(choices: Sequence[Option]) -> list[tuple[str, str]]:
    """Return examples of the options in turn, so that no label is repeated at the end."""
    columns = [[(e.message, o.label) for e in o.examples] for o in choices]
    rows = [pair for row in zip_longest(*columns) for pair in row if pair]
    return rows[: max(MAX_EXAMPLES, len(columns))]


def _begins(token: str, label: str) -> bool:
    word = token.strip()
    return bool(word) and token.startswith(" ") and label.startswith(word)


def _features(text: str) -> frozenset[str]:
    """Return the words, and the pairs of neighbouring words."""
    words = word_list(text)
    pairs = zip(["^", *words], [*words, "$"], strict=True)
    return frozenset(words) | frozenset(f"{a} {b}" for a, b in pairs)
