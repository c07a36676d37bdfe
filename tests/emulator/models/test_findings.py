"""What the services of now refuse, family by family, with the very bodies that they send.

The numbers are those of the findings that issue 12 is about ("A body of refusals").
"""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import pytest

from tests.emulator.models.conftest import Ask
from tests.emulator.models.requests import path_of, plain, said_in
from tests.fakes.models import KEY, CallPart, ModelService, profile
from tests.fakes.models.profile import Body

CHAT = "chat"


async def sent(service: ModelService, ask: Ask, body: Body) -> tuple[int, Any]:
    return await ask(service, path_of(service, CHAT), body)


def error(body: Any) -> Body:
    return (body[0] if isinstance(body, list) else body)["error"]


def after_a_call(profile_name: str, call: Body, **message: Any) -> Body:
    """The request after a tool ran: the call as it came, its result, nothing else."""
    body = plain(profile(profile_name), CHAT)
    called = {"role": "assistant", "content": None, "tool_calls": [call]} | message
    result = {"role": "tool", "tool_call_id": call["id"], "content": "done"}
    return body | {"messages": [*body["messages"], called, result]}


def call_of(events: Any) -> Body:
    """The call that a stream made, its pieces put together."""
    pieces = [
        piece
        for event in events
        for choice in event["choices"]
        for piece in choice["delta"].get("tool_calls") or []
    ]
    whole = dict(pieces[0])
    whole["function"] = {
        "name": pieces[0]["function"]["name"],
        "arguments": "".join(piece["function"].get("arguments", "") for piece in pieces),
    }
    whole.pop("index", None)
    return whole


CALL: Body = {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": "{}"}}


async def test_openai_takes_tools_on_chat_completions_with_effort_none_only(ask: Ask) -> None:
    """Finding 2."""
    async with ModelService(profile("openai")) as service:
        body = plain(service.profile, CHAT, tools=True)

        for effort in ({}, {"reasoning_effort": "low"}):
            status, told = await sent(service, ask, body | effort)

            assert status == 400
            assert error(told)["param"] == "reasoning_effort"
            assert "use /v1/responses or set reasoning_effort to 'none'" in error(told)["message"]
        assert (await sent(service, ask, body | {"reasoning_effort": "none"}))[0] == 200


async def test_astra_is_on_responses_only(ask: Ask) -> None:
    """Finding 2."""
    async with ModelService(profile("openai")) as service:
        astra = "gpt-6-astra"

        assert (await sent(service, ask, plain(service.profile, CHAT, model=astra)))[0] == 404
        body = plain(service.profile, "responses", model=astra, tools=True)
        assert (await ask(service, path_of(service, "responses"), body))[0] == 200


async def test_a_system_message_in_the_middle_is_refused_by_strict_templates(ask: Ask) -> None:
    """Finding 3."""
    expected = {
        "vllm": 400,
        "llamacpp": 500,
        "ollama": 500,
        "lmstudio": 400,
        "mistral": 400,
    }
    for name, refusal in expected.items():
        async with ModelService(profile(name)) as service:
            body = plain(service.profile, CHAT)
            late = [*body["messages"], {"role": "assistant", "content": "Hi."}]
            late += [{"role": "system", "content": "It is noon."}, {"role": "user", "content": "?"}]

            status, told = await sent(service, ask, body | {"messages": late})

            assert (name, status) == (name, refusal)
            assert "system" in str(told).lower()


async def test_two_system_messages_at_the_head_are_one_too_many_for_qwen(ask: Ask) -> None:
    """Finding 3: the summary is a second one."""
    async with ModelService(profile("vllm")) as service:
        body = plain(service.profile, CHAT)
        twice = [body["messages"][0], {"role": "system", "content": "Before: …"}]

        status, told = await sent(service, ask, body | {"messages": [*twice, *body["messages"]]})

    assert (status, error(told)["message"]) == (400, "System message must be at the beginning.")


async def test_a_temperature_is_refused_with_and_without_its_name(ask: Ask) -> None:
    """Finding 4."""
    named = {"openai": "temperature", "kimi": None, "anthropic": None}
    for name, param in named.items():
        async with ModelService(profile(name)) as service:
            body = plain(service.profile, CHAT)

            status, told = await sent(service, ask, body | {"temperature": 0.2})

            assert (status, error(told).get("param")) == (400, param)
            assert "temperature" in error(told)["message"]
            assert (await sent(service, ask, body))[0] == 200


async def test_thoughts_use_the_room_of_the_answer_up(ask: Ask) -> None:
    """Finding 5: length, no text, all of it paid for."""
    async with ModelService(profile("gemini")) as service:
        service.think("Hm.", "The answer", reasoning_tokens=5_000)
        body = plain(service.profile, "gemini") | {"generationConfig": {"maxOutputTokens": 4_096}}

        _, events = await ask(service, path_of(service, "gemini"), body)

    last = events[-1]
    assert said_in("gemini", events) == ""
    assert last["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert last["usageMetadata"]["thoughtsTokenCount"] == 4_096


async def test_openai_sends_nothing_while_a_model_thinks(ask: Ask) -> None:
    """Finding 7: on Chat Completions thoughts are a pause, and a number in the usage."""
    async with ModelService(profile("openai")) as service:
        service.think("Who may it be?", "Come in.", reasoning_tokens=900)
        body = plain(service.profile, CHAT) | {"stream_options": {"include_usage": True}}

        _, events = await sent(service, ask, body)

    assert "Who may" not in str(events)
    assert events[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 900}


async def test_too_long_has_another_body_everywhere(ask: Ask) -> None:
    """Finding 6."""
    told: dict[str, Any] = {}
    for name in (
        "vllm",
        "openrouter",
        "deepseek",
        "anthropic",
        "xai",
        "kimi",
        "llamacpp",
        "google",
    ):
        async with ModelService(profile(name)) as service:
            body = plain(service.profile, CHAT)
            body["messages"][1]["content"] = "word " * 1_000_000

            status, told[name] = await sent(service, ask, body)

            assert status == 400
            assert service.refusals[0].trouble == "too_long"
    assert error(told["vllm"])["param"] == "input_tokens"
    assert error(told["openrouter"])["code"] == 400
    assert error(told["deepseek"])["code"] == "invalid_request_error"
    assert "prompt is too long" in error(told["anthropic"])["message"]
    assert "maximum prompt length" in told["xai"]["error"]


async def test_thoughts_go_back_to_openrouter_as_they_came_in_one_or_in_pieces(ask: Ask) -> None:
    """Finding 8."""
    async with ModelService(profile("openrouter")) as service:
        service.call("add", {"row": "milk"})
        _, events = await sent(service, ask, plain(service.profile, CHAT, tools=True))
        call = call_of(events)
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        pieces = [one for delta in deltas for one in delta.get("reasoning_details") or []]
        text = "".join(piece.get("text", "") for piece in pieces)
        whole = [{**pieces[0], "text": text}, pieces[-1]]

        status, told = await sent(service, ask, after_a_call("openrouter", call))
        assert (status, error(told)["message"]) == (400, "Provider returned error")
        assert "thought_signature" in error(told)["metadata"]["raw"]
        for good in (pieces, whole):
            body = after_a_call("openrouter", call, reasoning_details=good)
            assert (await sent(service, ask, body))[0] == 200
        changed = [whole[0] | {"text": "x"}, whole[1]]
        under_another_id = [whole[0], whole[1] | {"id": "call_x"}]
        for bad in (changed, under_another_id):
            body = after_a_call("openrouter", call, reasoning_details=bad)
            assert (await sent(service, ask, body))[0] == 400
        skipped = [{"type": "reasoning.encrypted", "data": "skip_thought_signature_validator"}]
        foreign = after_a_call("openrouter", CALL, reasoning_details=skipped)
        assert (await sent(service, ask, foreign))[0] == 200


async def test_googles_compatible_address_wants_its_signature_back(ask: Ask) -> None:
    """Finding 8; the refusal is a list."""
    async with ModelService(profile("google")) as service:
        service.call("add", {"row": "milk"})
        _, events = await sent(service, ask, plain(service.profile, CHAT, tools=True))
        call = call_of(events)

        assert (await sent(service, ask, after_a_call("google", call)))[0] == 200
        del call["extra_content"]
        status, told = await sent(service, ask, after_a_call("google", call))

    assert status == 400
    assert isinstance(told, list)
    assert "thought_signature" in error(told)["message"]


async def test_groq_reserves_the_answers_room_against_the_minute(ask: Ask) -> None:
    """Finding 9."""
    now_s = 1_000.0
    async with ModelService(profile("groq"), plan="free", clock=lambda: now_s) as service:
        body = plain(service.profile, CHAT)

        status, told = await sent(service, ask, body | {"max_tokens": 8_000})
        assert status == 413
        assert (error(told)["code"], error(told)["type"]) == ("rate_limit_exceeded", "tokens")
        assert "Limit 8000, Requested 8020" in error(told)["message"]

        long = [*body["messages"][:1], {"role": "user", "content": "word " * 6_000}]
        asked = body | {"messages": long, "max_tokens": 400}
        assert (await sent(service, ask, asked))[0] == 200  # 7.5k of 8k
        status, told = await sent(service, ask, body | {"max_tokens": 1_000})
        assert status == 429
        assert "Please try again in 60.00s" in error(told)["message"]
        now_s += 61
        assert (await sent(service, ask, body | {"max_tokens": 1_000}))[0] == 200


async def test_what_was_read_before_is_counted_as_cached_up_to_the_first_change(ask: Ask) -> None:
    """Finding 10 and issue 12: the cached share of a bench is a real one."""
    async with ModelService(profile("deepseek")) as service:
        body = plain(service.profile, CHAT)
        body["messages"][0]["content"] = "rule " * 4_000
        hits: list[int] = []
        for words in ("Hello", "Hello", "Good-bye"):
            body["messages"][1]["content"] = words
            _, events = await sent(service, ask, body)
            hits.append(events[-1]["usage"]["prompt_cache_hit_tokens"])
        body["messages"][0]["content"] = "a changed rule " + body["messages"][0]["content"]
        _, events = await sent(service, ask, body)

    assert hits[0] == 0
    assert 4_900 < hits[1] <= events[-1]["usage"]["prompt_tokens"]
    assert hits[2] == hits[1]
    assert events[-1]["usage"]["prompt_cache_hit_tokens"] == 0


async def test_claude_on_openrouter_caches_up_to_the_marks_only(ask: Ask) -> None:
    """Finding 23."""
    async with ModelService(profile("openrouter")) as service:
        body = plain(service.profile, CHAT, model="anthropic/claude-sonnet-4.6")
        text: Body = {"type": "text", "text": "rule " * 4_000}

        async def cached(part: Body) -> int:
            body["messages"][0]["content"] = [part]
            _, events = await sent(service, ask, body)
            return events[-1]["usage"]["prompt_tokens_details"]["cached_tokens"]

        assert [await cached(text), await cached(text)] == [0, 0]
        marked = text | {"cache_control": {"type": "ephemeral"}}
        assert await cached(marked) == 0
        assert await cached(marked) > 4_900


async def test_ollama_cuts_what_does_not_fit_its_real_window_without_a_word(ask: Ask) -> None:
    """Finding 11."""
    async with ModelService(profile("ollama")) as service:
        body = plain(service.profile, CHAT)
        body["messages"][1]["content"] = "word " * 5_000

        status, events = await sent(service, ask, body)
        _, loaded = await ask(service, "/api/ps")
        _, shown = await ask(service, "/api/show", {"model": "qwen3.6:27b"})

    assert status == 200
    assert events[-1]["choices"][0]["finish_reason"] == "length"
    assert loaded["models"][0]["context_length"] == 4_096
    assert shown["model_info"]["qwen3.context_length"] == 262_144


async def test_lm_studio_falls_silent_where_the_prompt_does_not_fit(ask: Ask) -> None:
    """Finding 6 (lmstudio-bug-tracker/issues/2339)."""
    async with ModelService(profile("lmstudio")) as service:
        body = plain(service.profile, CHAT)
        body["messages"][1]["content"] = "word " * 5_000

        status, events = await sent(service, ask, body)

    assert (status, said_in("chat", events)) == (200, "")


async def test_groqs_model_stumbles_over_a_call_outside_and_inside_of_a_stream(ask: Ask) -> None:
    """Finding 13."""
    async with ModelService(profile("groq")) as service:
        service.trouble("stumbled")
        service.trouble("stumbled_inside")

        outside = await sent(service, ask, plain(service.profile, CHAT))
        inside = await sent(service, ask, plain(service.profile, CHAT))

    assert (outside[0], error(outside[1])["code"]) == (400, "tool_use_failed")
    assert (inside[0], error(inside[1])["code"]) == (200, "tool_use_failed")


async def test_mistral_names_what_it_does_not_take_in_loc_only(ask: Ask) -> None:
    """Finding 17."""
    async with ModelService(profile("mistral")) as service:
        body = plain(service.profile, CHAT) | {"stream_options": {"include_usage": True}}

        status, told = await sent(service, ask, body)

    assert (status, told["param"]) == (422, None)
    loc = told["message"]["detail"][0]["loc"]
    assert loc == ["body", "stream_options", "include_usage"]


async def test_mistral_takes_nine_letters_as_an_id_and_no_thoughts_of_others(ask: Ask) -> None:
    """Its own refusals beside finding 3 and 17."""
    async with ModelService(profile("mistral")) as service:
        foreign = await sent(service, ask, after_a_call("mistral", CALL))
        thought = after_a_call("mistral", CALL | {"id": "abcDEF123"}, reasoning_content="hm")

        assert (foreign[0], foreign[1]["code"]) == (400, "3280")
        assert (await sent(service, ask, thought))[0] == 422
        assert (await sent(service, ask, after_a_call("mistral", CALL | {"id": "abcDEF123"})))[
            0
        ] == 200


async def test_a_daily_quota_says_when_it_ends(ask: Ask) -> None:
    """Finding 19."""
    async with ModelService(profile("openrouter"), plan="free", clock=lambda: 1e6) as service:
        for _ in range(20):
            service.memory.spend(1e6 - 70_000, "qwen/qwen3-coder:free", 10)
            service.memory.spend(1e6 - 60_000, "qwen/qwen3-coder:free", 10)
        for _ in range(10):
            service.memory.spend(1e6 - 100, "qwen/qwen3-coder:free", 10)
        body = plain(service.profile, CHAT, model="qwen/qwen3-coder:free")

        status, told = await sent(service, ask, body)

    assert status == 429
    assert "free-models-per-day" in error(told)["message"]
    reset_ms = int(error(told)["metadata"]["headers"]["X-RateLimit-Reset"])
    assert reset_ms == round((1e6 - 70_000 + 86_400) * 1000)


async def test_deepseek_and_kimi_want_the_thoughts_of_every_call_back(ask: Ask) -> None:
    """Finding 22: also of calls that another service made."""
    for name, status_of_empty in (("deepseek", 200), ("kimi", 400)):
        async with ModelService(profile(name)) as service:
            status, told = await sent(service, ask, after_a_call(name, CALL))

            assert status == 400
            assert "reasoning_content" in error(told)["message"]
            full = after_a_call(name, CALL, reasoning_content="I add it.")
            assert (await sent(service, ask, full))[0] == 200
            empty = after_a_call(name, CALL, reasoning_content="")
            assert (await sent(service, ask, empty))[0] == status_of_empty


async def test_gemini_pairs_results_with_calls_by_their_ids(ask: Ask) -> None:
    """Finding 21."""
    async with ModelService(profile("gemini")) as service:
        service.calls(CallPart("add", {"row": "milk"}))
        path = path_of(service, "gemini")
        body = plain(service.profile, "gemini", tools=True)
        _, events = await ask(service, path, body)
        part = events[0]["candidates"][0]["content"]["parts"][0]
        ident = part["functionCall"]["id"]

        def answered(part: Body, **named: Any) -> Body:
            response = {"name": "add", "response": {"output": "done"}} | named
            turns = [{"role": "model", "parts": [part]}]
            turns += [{"role": "user", "parts": [{"functionResponse": response}]}]
            return body | {"contents": [*body["contents"], *turns]}

        assert (await ask(service, path, answered(part, id=ident)))[0] == 200
        assert (await ask(service, path, answered(part)))[0] == 400
        assert (await ask(service, path, answered(part, id="another")))[0] == 400
        bare = {"functionCall": part["functionCall"]}
        status, told = await ask(service, path, answered(bare, id=ident))

    assert status == 400
    assert "missing a thought_signature" in error(told)["message"]


async def test_a_dead_model_is_refused_and_not_listed(ask: Ask) -> None:
    """Finding 1."""
    for name, model, status in (
        ("groq", "llama-3.3-70b-versatile", 400),
        ("deepseek", "deepseek-chat", 400),
    ):
        async with ModelService(profile(name)) as service:
            assert (await sent(service, ask, plain(service.profile, CHAT, model=model)))[
                0
            ] == status


async def test_openai_publishes_when_a_model_is_shut_down(ask: Ask) -> None:
    """Finding 1."""
    async with ModelService(profile("openai")) as service:
        _, listed = await ask(service, "/v1/models")

    dates = {one["id"]: one["shutdown_date"] for one in listed["data"]}
    assert (dates["gpt-4o-mini"], dates["gpt-6-luna"]) == ("2027-01-14", None)


async def test_responses_gives_its_thoughts_and_wants_them_before_the_call(ask: Ask) -> None:
    """Issue 12, 2 and 3: items of thoughts go back unmodified."""
    async with ModelService(profile("openai")) as service:
        service.call("add", {"row": "milk"})
        path = path_of(service, "responses")
        body = plain(service.profile, "responses", tools=True)
        body |= {"include": ["reasoning.encrypted_content"], "store": False}
        _, events = await ask(service, path, body)
        done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        thought, call = done
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}

        async def status(*items: Body) -> int:
            return (await ask(service, path, body | {"input": [*body["input"], *items]}))[0]

        assert thought["encrypted_content"]
        assert await status(thought, call, result) == 200
        assert await status(call, result) == 400
        assert await status(thought | {"encrypted_content": "x"}, call, result) == 400
        bare = {key: value for key, value in call.items() if key != "id"}
        assert await status(bare, result) == 200
        assert await status(thought, call) == 400
        assert await status(result) == 400


ORPHEUS: Body = {
    "model": "canopylabs/orpheus-v1-english",
    "voice": "hannah",
    "response_format": "wav",
    "input": "Good morning",
}


async def spoken(service: ModelService, ask: Ask, **change: Any) -> tuple[int, Any]:
    body = {key: value for key, value in (ORPHEUS | change).items() if value is not None}
    return await ask(service, service.profile.sounds["speech"], body)


async def test_groqs_voice_speaks_short_texts_as_wav_once_its_terms_are_accepted(ask: Ask) -> None:
    """Finding 24."""
    async with ModelService(profile("groq")) as service:
        assert (await spoken(service, ask, input="a" * 200))[0] == 200
        for change in (
            {"input": "a" * 201},
            {"input": ""},
            {"response_format": "opus"},
            {"response_format": None},
            {"voice": "alloy"},
            {"voice": None},
            {"model": "playai-tts"},
        ):
            assert (await spoken(service, ask, **change))[0] == 400
        service.memory.terms_accepted = False
        status, told = await spoken(service, ask)

    assert (status, error(told)["code"]) == (400, "model_terms_required")
    assert "playground?model=canopylabs/orpheus-v1-english" in error(told)["message"]
    assert [wrong.trouble for wrong in service.refusals] == [
        "too_much_to_speak",
        "nothing_to_speak",
        "speech_format",
        "speech_format",
        "voice",
        "no_voice",
        "decommissioned",
        "terms",
    ]


async def test_groqs_free_plan_speaks_1_200_characters_a_minute_and_then_by_and_by(
    ask: Ask,
) -> None:
    """Finding 24."""
    now_s = 0.0
    async with ModelService(profile("groq"), plan="free", clock=lambda: now_s) as service:
        said = [(await spoken(service, ask, input="a" * 200))[0] for _ in range(7)]
        now_s = 10.0
        later = [(await spoken(service, ask, input="a" * 200))[0] for _ in range(2)]

    assert said == [200] * 6 + [429]
    assert later == [200, 429]
    assert all(
        "tokens per minute (TPM)" in wrong.body["error"]["message"] for wrong in service.refusals
    )
    assert service.refusals[0].headers == {"retry-after": "10"}


@pytest.mark.parametrize(
    ("name", "ending", "size", "trouble"),
    [
        ("groq", "ogg", 26_214_401, "too_large"),
        ("openai", "ogg", 26_214_401, "too_large_to_hear"),
        ("groq", "ogg", 0, "no_media"),
        ("openai", "wav", 44, "too_short_to_hear"),
        ("groq", "oga", 5_000, "file_type"),
        ("openai", "opus", 5_000, "file_type"),
        ("groq", "ogg", 5_000, ""),
        ("openai", "oga", 5_000, ""),
    ],
)
async def test_a_file_is_heard_by_its_size_and_the_ending_of_its_name(
    name: str, ending: str, size: int, trouble: str
) -> None:
    ears = {"groq": "whisper-large-v3-turbo", "openai": "gpt-transcribe"}[name]
    async with ModelService(profile(name)) as service, aiohttp.ClientSession() as session:
        form = aiohttp.FormData({"model": ears, "response_format": "json"})
        form.add_field("file", io.BytesIO(bytes(size)), filename=f"a.{ending}")
        headers = {"Authorization": f"Bearer {KEY}"}
        path = service.profile.sounds["transcription"]
        async with session.post(service.url + path, data=form, headers=headers) as answer:
            told = await answer.json()

    assert [wrong.trouble for wrong in service.refusals] == ([trouble] if trouble else [])
    assert (answer.status == 413) == (size > 26_214_400)
    assert ("error" in told) == bool(trouble)


async def test_the_models_that_speak_do_not_chat_and_say_when_they_end(ask: Ask) -> None:
    """Finding 1."""
    async with ModelService(profile("openai")) as service:
        voice = plain(service.profile, CHAT, model="gpt-4o-mini-tts")
        assert (await sent(service, ask, voice))[0] == 404
        _, one = await ask(service, "/v1/models/gpt-4o-mini-tts")
        gone, _ = await ask(service, "/v1/models/gpt-4o-mini-tts-2025-03-20")

    assert one["shutdown_date"] == "2027-01-06"
    assert gone == 404
