"""What servers say of their models, in the words of each; bodies as their sources record them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.providers.known.told import (
    Told,
    entry_of,
    joined,
    names,
    nearest,
    told_by_list,
    told_by_llama_cpp,
    told_by_ollama,
)

OPENROUTER = {
    "id": "openai/gpt-4",
    "context_length": 8192,
    "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
    "top_provider": {"context_length": 8191, "is_moderated": True},
    "supported_parameters": ["tools", "temperature"],
    "expiration_date": "2027-01-14",
    "pricing": {"prompt": "0.00003", "completion": "0.00006"},
}
MISTRAL = {
    "id": "mistral-small-2603",
    "aliases": ["mistral-small-latest"],
    "max_context_length": 262144,
    "capabilities": {"completion_chat": True, "function_calling": True, "vision": True},
    "deprecation": "2027-02-01T12:00:00Z",
    "deprecation_replacement_model": "mistral-small-4",
}
LM_STUDIO = {
    "id": "qwen3.5-9b",
    "type": "vlm",
    "state": "loaded",
    "max_context_length": 262144,
    "loaded_context_length": 4096,
    "capabilities": ["tool_use"],
}
LM_STUDIO_1 = {
    "key": "gemma4-12b",
    "max_context_length": 131072,
    "capabilities": {"vision": True, "trained_for_tool_use": True},
    "loaded_instances": [{"id": "gemma4-12b", "config": {"context_length": 8192}}],
}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"id": "gpt-6-luna", "owned_by": "system", "shutdown_date": None}, Told()),
        ({"id": "gpt-4o-mini", "shutdown_date": "2027-01-14"}, Told(ends_on=date(2027, 1, 14))),
        ({"id": "gpt-4o-mini", "shutdown_date": 1799884800}, Told(ends_on=date(2027, 1, 14))),
        (
            OPENROUTER,
            Told(
                8191,
                sees=False,
                calls_tools=True,
                thinks=False,
                ends_on=date(2027, 1, 14),
                usd=(30.0, 30.0, 60.0),
            ),
        ),
        ({"id": "m", "context_window": 131072, "active": True}, Told(131072)),
        ({"id": "m", "context_window": 131072, "active": False}, Told(131072, active=False)),
        (
            MISTRAL,
            Told(
                262144,
                sees=True,
                calls_tools=True,
                ends_on=date(2027, 2, 1),
                successor="mistral-small-4",
            ),
        ),
        (
            {
                "id": "claude-opus-5",
                "max_input_tokens": 1000000,
                "capabilities": {
                    "image_input": {"supported": True},
                    "thinking": {"supported": True},
                },
            },
            Told(1000000, sees=True, thinks=True),
        ),
        (
            {"name": "models/gemini-3.5-flash-lite", "inputTokenLimit": 1048576, "thinking": True},
            Told(1048576, thinks=True),
        ),
        (
            {
                "id": "kimi-k2.6",
                "context_length": 262144,
                "supports_image_in": True,
                "supports_reasoning": True,
            },
            Told(262144, sees=True, thinks=True),
        ),
        ({"id": "Qwen/Qwen3.5-9B", "owned_by": "vllm", "max_model_len": 32768}, Told(32768)),
        (LM_STUDIO, Told(4096, sees=True, calls_tools=True, thinks=False)),
        (
            {"id": "m", "type": "llm", "state": "not-loaded", "max_context_length": 262144},
            Told(262144, loaded=False),
        ),
        (LM_STUDIO_1, Told(8192, sees=True, calls_tools=True)),
        ({**LM_STUDIO_1, "loaded_instances": []}, Told(131072, True, True, loaded=False)),
        ({"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}, Told()),
        ({"id": "m:free", "pricing": {"prompt": "0", "completion": "0"}}, Told(usd=(0, 0, 0))),
        ({"id": "m", "pricing": {"prompt": "nan", "completion": []}}, Told()),
        ({"id": "m", "context_length": "many", "shutdown_date": "soon", "type": 4}, Told()),
        ({"id": "m", "context_length": True, "max_model_len": -1, "architecture": []}, Told()),
    ],
)
def test_an_entry_of_a_list_says_what_its_service_says(entry: dict[str, Any], told: Told) -> None:
    assert told_by_list(entry) == told


SHOW = {
    "capabilities": ["completion", "tools", "thinking"],
    "parameters": "temperature 0.7",
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
}


@pytest.mark.parametrize(
    ("show", "running", "told"),
    [
        (SHOW, [], Told(40960, False, True, True, loaded=False)),
        (SHOW, [{"name": "qwen3:8b", "context_length": 4096}], Told(4096, False, True, True)),
        (
            SHOW,
            [{"name": "other", "context_length": 4096}],
            Told(40960, False, True, True, loaded=False),
        ),
        ({**SHOW, "parameters": "num_ctx    16384\nstop x"}, [], Told(16384, False, True, True)),
        ({**SHOW, "remote_model": "qwen3:8b"}, [], Told(40960, False, True, True)),
        ({"capabilities": ["completion", "vision"]}, [], Told(0, True, False, False, loaded=False)),
        ("<html>", None, Told(loaded=False)),
    ],
)
def test_what_ollama_has_in_memory_counts_more_than_what_a_model_could(
    show: object, running: object, told: Told
) -> None:
    assert told_by_ollama(show, {"models": running}, "qwen3:8b") == told


def test_llama_cpp_says_the_window_of_a_slot_and_whether_it_has_eyes() -> None:
    props = {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": False}}

    assert told_by_llama_cpp(props) == Told(8192, sees=False)
    assert told_by_llama_cpp([1]) == Told()


def test_of_two_words_the_smaller_window_counts_and_the_one_who_knows_more() -> None:
    of_list, of_props = Told(262144, calls_tools=True, ends_on=date(2027, 1, 1)), Told(8192, True)

    assert joined(of_list, of_props) == Told(8192, True, True, ends_on=date(2027, 1, 1))


def test_a_model_is_found_by_its_name_an_alias_or_with_its_tag() -> None:
    body = {"data": [{"id": "qwen3:latest"}, MISTRAL, "odd", {"id": 7}, {"id": "a/b"}]}

    assert names(body) == ("qwen3:latest", "mistral-small-2603", "a/b")
    assert entry_of(body, "qwen3") == {"id": "qwen3:latest"}
    assert entry_of(body, "mistral-small-latest") == MISTRAL
    assert entry_of(body, "a/b:nitro") == {"id": "a/b"}
    assert entry_of(body, "b") is None


def test_the_nearest_names_are_named_whatever_their_vendor() -> None:
    living = ["openai/gpt-oss-120b", "openai/gpt-oss-20b", "qwen/qwen3.6-27b", "whisper-large-v3"]

    assert nearest(living, "gpt-oss-120") == ("openai/gpt-oss-120b", "openai/gpt-oss-20b")
    assert nearest(living, "zzz") == ()
    assert nearest([*living, "gpt-6-luna"], "gpt-4o-mini")[0] == "gpt-6-luna"
    assert "whisper-large-v3" not in nearest(living, "whisper-large-v3")  # listed, not for our key
    assert nearest([f"vendor/model-{n}" for n in range(5_000)], "model-17")[0] == "vendor/model-17"


WORDS = """data models id name key capabilities architecture input_modalities top_provider config
loaded_instances context_length deprecation shutdown_date aliases model_info x.context_length
parameters modalities vision owned_by""".split()  # noqa: SIM905
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(WORDS) | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON)
def test_whatever_a_server_answers_nothing_breaks(body: Any, other: Any) -> None:
    for name in names(body):
        assert entry_of(body, name) is not None
    if isinstance(body, dict):
        told_by_list(body)
    told_by_ollama(body, other, "m")
    told_by_llama_cpp(body)


def test_what_is_no_name_to_ask_for_is_not_shown_to_anybody() -> None:
    """Names are told to the owner, in a terminal and in their chat."""
    odd = ["\x1b[31mred", "two\nlines", "x" * 5_000, None, 7, "", "good/name:8b"]

    assert names({"data": [{"id": one} for one in odd]}) == ("good/name:8b",)
