"""Words the notices about files that people send: what failed, why, and what helps."""

from __future__ import annotations

from typing import assert_never

from aouo.facts import notices_media as notices
from aouo.facts.notices_media import VOICE_INSTALL, Lack, MediaNotice, Trouble


def sentence(notice: MediaNotice) -> str:
    match notice:
        case notices.FileTooLarge(what, limit):
            return (
                f"Your {what} is too big: I get files of up to {limit / (1024 * 1024):,.0f} MB. "
                "Send a smaller one, or a part of it."
            )
        case notices.FileIsGone(what):
            return f"Your {what} is not to be had any more. Please send it again."
        case notices.FileNotReached(what):
            return f"I could not download your {what}. Please send it again in a minute."
        case notices.FilesTookTooLong():
            return "Downloading this took too long, so I stopped. Please send it again."
        case notices.HearingNotSetUp(what, lack):
            return _no_ears(what, lack)
        case notices.NotHeard(what, why):
            return f"I could not listen to your {what}: {_because('speech recognition', why)}"
        case notices.NothingHeard(what, True):
            return (
                f"I could not make out what is said in your {what}. Please say it again clearly, "
                "in a language that my speech recognition knows, or write it."
            )
        case notices.NothingHeard(what):
            return f"I heard no words in your {what}. Please say it again, or write it."
        case notices.SeeingNotSetUp():
            return (
                "I cannot see pictures: my model takes in words only. Please describe it. The "
                "owner chooses a model that sees in provider.model, or one that looks at pictures "
                "for it in gemini.vision_model, with gemini.api_key."
            )
        case notices.NotSeen(why):
            return f"I could not look at your picture: {_because('the model for it', why)}"
        case notices.MediaRefused():
            return ""
        case _:
            assert_never(notice)


def _no_ears(what: str, lack: Lack) -> str:
    cannot = f"I cannot listen to your {what}: speech recognition is not"
    match lack:
        case "unset":
            return (
                f"{cannot} set up. Please write it. The owner sets it up with a key in "
                "stt.groq_api_key, with stt.backend openai and openai.api_key, or without a "
                "service with stt.backend local."
            )
        case "not_installed":
            return (
                f"{cannot} installed. Please write it. The owner installs it with: {VOICE_INSTALL}"
            )
        case "no_model":
            return (
                f"{cannot} set up: its model is not there. Please write it. The owner finds out "
                "more with: aouo doctor"
            )
        case _:
            assert_never(lack)


def _because(who: str, why: Trouble) -> str:
    match why:
        case "busy":
            return f"{who} is busy or cannot be reached. Send it again in a minute."
        case "late":
            return f"{who} did not answer in time. Send it again."
        case "key":
            return f"{who} refuses our key. The owner finds out more with: aouo doctor"
        case "money":
            return f"the account of {who} has no money left; the owner has to top it up."
        case "used up":
            return f"{who} has used up its quota of the day. Send it again tomorrow."
        case "setting":
            return (
                f"{who} cannot be used as it is set up. The owner finds out more with: aouo doctor"
            )
        case "large":
            return f"it is too large for {who}. Send it in parts, or write it."
        case "refused":
            return f"{who} does not take it. Send it in another form, or write it."
        case "broken":
            return f"{who} broke down on it. Send it in another form, or write it."
        case "silent":
            return f"{who} said nothing. Send it again, or describe it."
        case _:
            assert_never(why)
