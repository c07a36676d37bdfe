"""Words the failures of model services: what happened, and for the owner what to edit."""

from __future__ import annotations

from aouo.facts import errors

_FAR_S = 20 * 3600.0
TRY_AGAIN = " Try again in a minute."
"""The advice that stands last where somebody asked."""
_SOON_S = 60.0
_CONFIG = "in config.json"
_BECAUSE: tuple[tuple[type[errors.ProviderError], str], ...] = (
    (errors.QuotaUsedUp, "has used up its quota of the day"),
    (errors.PlanTooSmall, "allows fewer tokens a minute than this takes"),
    (errors.Stumbled, "wrote a tool call that nobody can read"),
    (errors.ProviderBusy, "is busy or cannot be reached"),
    (errors.StillComputing, "may still be computing"),
    (errors.ProviderTimeout, "was silent for too long or broke off"),
    (errors.PromptTooLong, "finds this too long"),
    (errors.ContentFiltered, "declined to answer this"),
    (errors.ProviderBroke, "cannot run the model now"),
    (errors.ProviderAuth, "refuses our key"),
    (errors.ProviderBilling, "has no money of ours left, or may spend no more of it"),
    (errors.ModelGone, "is not there any more, or not for our key"),
    (errors.RegionRefused, "does not serve our country"),
    (errors.ToolsRefused, "takes no tools"),
    (errors.NoModelService, "is no model service"),
    (errors.ProxyRefused, "is behind a proxy that refuses us"),
    (errors.CertificateRefused, "shows a certificate that cannot be trusted"),
    (errors.ProviderRejected, "does not accept our request"),
    (errors.UnexplainedRefusal, "does not accept our request"),
)
_NO_ANSWER = {kind.__name__: why for kind, why in _BECAUSE}


def failed(error: errors.ProviderError, reference: str, *, for_owner: bool) -> str:
    """Return the sentence for a turn that no model answered; `reference` is its id in the log."""
    match error:
        case errors.ProviderBusy():
            return _busy(error, for_owner=for_owner)
        case errors.StillComputing():
            told = (
                "The machine that the model runs on has not begun to answer and may still be "
                "computing, so I did not ask it a second time. Give it some minutes, then try "
                "again."
            )
            owners = f" I wait longer with provider.request_timeout_s {_CONFIG}."
            return told + (owners if for_owner else "")
        case errors.ProviderTimeout():
            return "The model service stopped answering. Try again."
        case errors.PromptTooLong():
            return "This is too long for the model. /new starts a fresh session, or send less."
        case errors.ModelGone():
            return _gone(error, for_owner=for_owner)
        case errors.ProviderAuth():
            return "The model service refuses our key. The owner finds out more with: aouo doctor"
        case errors.ProviderBilling():
            return (
                "The account at the model service has no money left, or its spending limit is "
                "reached; the owner has to see to it."
            )
        case errors.ContentFiltered():
            return "The model service declined to answer this. Try it in other words."
        case errors.RegionRefused():
            told = "The model service does not serve the country that our requests come from."
            owners = (
                " Let me run in another one, go through a proxy there (HTTPS_PROXY), or use "
                "another service. With Gemini an account with billing may be enough."
            )
            return told + (owners if for_owner else " The owner has to change that.")
        case errors.NoModelService() | errors.ProxyRefused() | errors.CertificateRefused():
            return _no_way(error, reference, for_owner=for_owner)
        case errors.ToolsRefused():
            told = "The model takes no tools, and I work with them."
            owners = (
                f" Choose one that does with provider.model {_CONFIG}. A server of your own may "
                "have to be started with them: llama.cpp with --jinja, vLLM with "
                "--enable-auto-tool-choice"
            )
            return told + (owners if for_owner else " The owner has to choose another one.")
        case errors.ProviderRejected():
            return (
                "The model service does not accept our request or the model's name. "
                f"The owner finds out more with: aouo doctor, and in the log under {reference}"
            )
        case errors.ProviderBroke():
            told = "The machine that the model runs on says that it cannot run it now."
            owners = (
                " Load it there, if it is not. If memory is short, end other programs there, give "
                "the model a smaller window (in Ollama: OLLAMA_CONTEXT_LENGTH), or choose a "
                f"smaller one with provider.model {_CONFIG}."
            )
            return told + (owners if for_owner else " The owner finds out more with: aouo doctor")
        case _:
            return f"The model service failed. Try again; the log has details under {reference}."


def cut_off(bound: errors.Bound, *, for_owner: bool) -> str:
    """Return the sentence for a model that used all its room before its first word.

    `bound` is what limited the room.
    """
    told = (
        "The model used up all its room for thoughts and answer before it said a word. Ask for a "
        "smaller piece; /new starts afresh."
    )
    ollama = "A model in Ollama may have a smaller window than I think: OLLAMA_CONTEXT_LENGTH"
    match bound:
        case "service":
            owners = "Its service gave no more room for this, whatever provider.max_tokens says."
        case "budget":
            owners = "What is left of a budget of today pays for no more room: /usage"
        case "window":
            owners = (
                "Its window, as far as I know it, has no more beside the conversation. If it is "
                "larger than `aouo models` says: advanced.context_window "
                f"{_CONFIG}. {ollama}"
            )
        case _:
            owners = f"More room: provider.max_tokens {_CONFIG}. {ollama}"
    return f"{told} {owners}" if for_owner else told


def no_answer_because(error: str) -> str:
    """Return why a model did not answer, after its name; `error` is the class of its error."""
    return _NO_ANSWER.get(error, "failed")


def _busy(error: errors.ProviderBusy, *, for_owner: bool) -> str:
    steps_in = f" Another model can step in: provider.fallback {_CONFIG}." if for_owner else ""
    match error:
        case errors.QuotaUsedUp():
            begins = f"it begins anew at {_hour(error)}" if error.until else "try again tomorrow"
            return f"The model service's quota for today is used up; {begins}.{steps_in}"
        case errors.PlanTooSmall():
            whose = "your" if for_owner else "this bot's"
            return (
                f"This takes more than {whose} plan's tokens per minute at the model service, so "
                f"trying again does not help. /new starts a fresh session, with less to read."
                f"{steps_in}"
            )
        case errors.Stumbled():
            return (
                "The model wrote a tool call that nobody can read. Try again, perhaps in other "
                "words."
            )
        case errors.ProviderBusy(retry_after_s=asked_s) if asked_s > _SOON_S and error.until:
            return f"The model service takes none of our requests before {_hour(error)}.{steps_in}"
        case _:
            return f"The model service is busy or cannot be reached.{TRY_AGAIN}"


def _hour(error: errors.ProviderBusy) -> str:
    assert error.until is not None
    far = error.retry_after_s > _FAR_S
    return f"{error.until:%H:%M on %d %B}" if far else f"{error.until:%H:%M}"


def _gone(error: errors.ModelGone, *, for_owner: bool) -> str:
    named = f"no model “{error.model}”" if error.model else "no model of the configured name"
    told = f"The model service has {named}, or not for our key."
    if not for_owner:
        return f"{told} The owner has to choose another one."
    others = f" It has: {', '.join(error.living)}." if error.living else ""
    return f"{told}{others} Choose one with provider.model {_CONFIG}."


def _no_way(
    error: errors.NoModelService | errors.ProxyRefused | errors.CertificateRefused,
    reference: str,
    *,
    for_owner: bool,
) -> str:
    match error:
        case errors.NoModelService():
            told = "The model's address is answered by something that is no model service."
            if for_owner:
                return (
                    f"{told} Look at the provider's base_url in config.json (most end in /v1), and "
                    "whether a login page of this network stands before it. The log has what came, "
                    f"under {reference}"
                )
            cure = ""
        case errors.ProxyRefused(cure=cure):
            told = "A proxy before the model service does not let me through."
        case errors.CertificateRefused(cure=cure):
            told = "The model service shows a certificate that cannot be trusted."
    if for_owner and cure:
        return f"I told the model service nothing: {cure}."
    return f"{told} The owner finds out more with: aouo doctor"
