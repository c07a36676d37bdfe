"""Everything we raise on purpose, grouped by who has to act.

AouoError
├── SetupError               the owner: edit a file and start again
│   └── PackError
├── Refused                  the person: told in the chat, logged at info
│   ├── RouteRequiredError   several packs and none chosen, or the chosen one is gone
│   ├── PlatformRefused      the pack does not answer in this kind of chat
│   ├── QuotaExceededError
│   ├── BudgetExceeded       the call might cost more than is left of today's budget
│   ├── PriceUnknown         a budget is set, and the model has no price
│   ├── NothingToRetry       /retry where nothing was asked
│   ├── TooLate              a tap on a message whose choice is made, or whose answer is over
│   ├── DispatchLimitReached
│   ├── TooMuchToRead         a lookup takes too long, or finds too much
│   ├── ToolsNotReady         the definitions of its tools did not arrive in time
│   └── EmptyAnswer           the model stayed silent, also when asked once more
├── ProviderError            nobody yet: a model service failed
│   ├── ProviderBusy         try again later, or the next model
│   │   ├── QuotaUsedUp       not before another day: the next model
│   │   ├── PlanTooSmall      one request is more than the plan allows in a minute
│   │   └── Stumbled          the model wrote a call that its service cannot read: once more
│   ├── ProviderTimeout      the service stopped sending
│   │   └── StillComputing    a local server: asking again makes it slower
│   ├── PromptTooLong        shorten the transcript and ask again
│   ├── ProviderRejected     our request is wrong: a bug or a setting
│   │   ├── UnexplainedRefusal  the service gives no reason; perhaps the length
│   │   ├── ToolsRefused      the model takes no tools
│   │   ├── NotServed         nothing answers at the path where we ask
│   │   └── NoModelService    another kind of server answers at the address
│   ├── ModelGone            the owner: choose another model; there is none of that name
│   ├── ProviderAuth         the key is missing or refused
│   │   └── ScopeMissing      it is good, and may not do this
│   ├── ProviderBilling      no money left to spend there
│   ├── RegionRefused        the service does not serve where we are
│   ├── ProxyRefused         the proxy on the way wants a password, or says no
│   ├── CertificateRefused   the server's certificate is not trusted
│   ├── ContentFiltered      the service declined to answer this
│   └── ProviderBroke        a local model server broke down
├── DeliveryError            nobody yet: a chat did not take a message
│   ├── NotSent              it surely did not arrive: safe to try again
│   ├── FloodControl         wait, then try again
│   ├── RecipientGone        stop sending to this chat
│   ├── DeliveryRefused      this message as it is will never be taken
│   │   ├── TopicGone         the topic is closed or deleted
│   │   ├── NoTopics          the chat has no topics
│   │   ├── NoPhoto           it cannot be shown as a photo, perhaps as a file
│   │   ├── NotOffered        the server does not know this call: an older one
│   │   └── NoRight           the bot lacks a right in this chat
│   ├── ChatMoved             the group became a supergroup
│   └── DeliveryUnknown      it may have arrived: never send it twice
├── FileNotFetched           the person: a file of theirs did not reach us
├── ToolFailed               the model: read as the tool's result
│   └── OutcomeUnknown        it may have taken effect: never repeat it blindly
├── Unstorable               nobody: the database cannot hold the values
├── LostClaim                nobody: another worker holds the job now
├── StopAsked                nobody: the person ended this job by /stop
├── PostActionFailed         the owner: what a command wanted done with its answer failed
└── StepError                us: a pipeline step broke its contract
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from posixpath import basename
from typing import Literal, TypeAlias

Bound: TypeAlias = Literal["", "setting", "window", "service", "budget"]
"""What limits a model's room for thoughts and answer; `setting` is `provider.max_tokens`."""


class AouoError(Exception):
    """The root of everything we raise on purpose."""


class TurnFailed(AouoError):
    """A turn that somebody waits for has no answer; says why, as its history does."""


class SetupError(AouoError):
    """The owner has to change something; `fix` says what: one line, and below it what to write.

    `exit_code` is the exit code of a command line verb (contract, "Command line"): 4 where another
    process holds what we need, the home or the token; 0 = that of the class.
    """

    exit_code = 3

    def __init__(self, problem: str, *, fix: str = "", exit_code: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix
        self.exit_code = exit_code or self.exit_code

    def __str__(self) -> str:
        return f"{self.problem} {self.fix}".strip()


class PackError(SetupError):
    """A pack that cannot be loaded; the runtime and the other packs go on."""


class Refused(AouoError):
    """The person's wish is not carried out; said in the chat, logged at info."""


class RouteRequiredError(Refused):
    """A conversation has no usable pack.

    `requested` is the pack it was bound to, or "" when none was ever chosen.
    """

    def __init__(self, available: tuple[str, ...], requested: str = "") -> None:
        super().__init__(f"pack {requested!r} is not loaded" if requested else "no pack chosen")
        self.available = available
        self.requested = requested


@dataclass(eq=False, repr=False)
class PlatformRefused(Refused):
    """`pack` (its display name) answers only on the platforms `allowed`; `here` is none of them."""

    pack: str
    here: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.pack} answers on {', '.join(self.allowed)}, not on {self.here}"


@dataclass(eq=False, repr=False)
class QuotaExceededError(Refused):
    """A token cap is reached. `key` is the full configuration key of the cap."""

    scope: str
    used_tokens: int
    cap_tokens: int
    key: str

    def __str__(self) -> str:
        return f"{self.scope} quota: {self.used_tokens} of {self.cap_tokens} tokens ({self.key})"


@dataclass(eq=False, repr=False)
class BudgetExceeded(Refused):
    """The worst case of a model call does not fit a budget of `day`; money in USD.

    `kind` is day | person | pack and `name` whose. `cap_usd` includes today's allowance,
    `raise_usd` is a round sum that would be enough, `cheaper` the (provider, model) that would
    still fit, ("", "") = none.
    """

    kind: str
    name: str
    _: KW_ONLY
    used_usd: float
    cap_usd: float
    worst_usd: float
    key: str
    day: str
    raise_usd: float
    cheaper: tuple[str, str]

    def __str__(self) -> str:
        sums = f"{self.used_usd:g} + {self.worst_usd:g} of {self.cap_usd:g} USD"
        return f"{self.kind} budget {self.name}: {sums} ({self.key})"


class PriceUnknown(Refused):
    """A budget is set and `model` has no price; `key` is the setting for it."""

    def __init__(self, model: str) -> None:
        super().__init__(f"no price for {model}")
        self.model = model
        self.key = f"budgets.prices.{model}"


class TooMuchToRead(Refused):
    """A lookup in the database was ended: it took too long, or found too much."""


class NothingToRetry(Refused):
    """There is no turn that could be run again."""


class TooLate(Refused):
    """The person tapped below an answer that is over, or a second button of one message."""


class DispatchLimitReached(Refused):
    """A turn used all its model calls without a final answer."""

    def __init__(self, dispatches: int) -> None:
        super().__init__(f"{dispatches} model calls without a final answer")
        self.dispatches = dispatches


class GoingInCircles(Refused):
    """A model asks for the same call with the same result again and again."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"the same call of {tool} with the same result again and again")
        self.tool = tool


class ToolsNotReady(Refused):
    """The definitions of a turn's tools did not arrive in time."""


class EmptyAnswer(Refused):
    """The model gave no words, also when it was asked once more.

    `cut_off` is what limited its room where thoughts used that up before the first word, else "".
    """

    def __init__(self, message: str, *, cut_off: Bound = "") -> None:
        super().__init__(message)
        self.cut_off: Bound = cut_off


class ProviderError(AouoError):
    """A model service failed; `str` may quote the service and is for the log only.

    `may_have_cost`: it may have charged an unknown sum before it failed. `numbers` are those in
    the service's words, in their order. `given_up` is the model that was asked last, as
    `provider/model`, and the class of its own error; blank until a caller that knows sets it.
    """

    may_have_cost = False
    numbers: tuple[int, ...] = ()
    given_up: tuple[str, str] = ("", "")


class ProviderBusy(ProviderError):
    """The service is overloaded or limits the rate.

    `retry_after_s` is the pause that it asked for, 0 = none. `until` is the end of the pause in
    the bot's time zone; None until a caller that has a clock sets it.
    """

    until: datetime | None = None

    def __init__(self, message: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QuotaUsedUp(ProviderBusy):
    """A quota of a day is used up; `retry_after_s` 0 = the service does not say when it renews."""


class PlanTooSmall(ProviderBusy):
    """One request, its room for an answer included, takes more tokens than the account may use
    in a minute. Waiting does not help, and a shorter history would lose more than it helps."""


class Stumbled(ProviderBusy):
    """The model wrote a tool call that its service could not read."""


class ProviderTimeout(ProviderError):
    """No answer came within the configured time, or a stream stopped in the middle.

    `silent`: not one byte came, so the service may still be computing.
    """

    may_have_cost = True

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


class StillComputing(ProviderTimeout):
    """Not one byte came from a server on this machine or in this network."""

    def __init__(self, message: str) -> None:
        super().__init__(message, silent=True)


class PromptTooLong(ProviderError):
    """The request does not fit the model's window."""


class ProviderRejected(ProviderError):
    """The service says that the request is wrong."""


class UnexplainedRefusal(ProviderRejected):
    """The service refuses the request without an error code that says why.

    Most services answer so to a prompt that is too long, and to much else.
    """


class ToolsRefused(ProviderRejected):
    """The model takes no tools, or its server was started without them."""


class ModelGone(ProviderError):
    """The service has no model of that name, or not for our key; `living` are some models that it
    has, the nearest names first."""

    def __init__(self, message: str, *, model: str = "", living: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.model = model
        self.living = living


class ProviderAuth(ProviderError):
    """The service refuses the key."""


class ScopeMissing(ProviderAuth):
    """The key is good and lacks `scope` (github.com/anomalyco/opencode/issues/21928, Apr 2026)."""

    def __init__(self, message: str, *, scope: str) -> None:
        super().__init__(message)
        self.scope = scope


class RegionRefused(ProviderError):
    """The service does not answer requests from the country that ours came from."""


class NotServed(ProviderRejected):
    """The service does not serve this path, and does not say that the model's name is wrong."""


class NoModelService(ProviderRejected):
    """The server that answered is no model service: a web page, another server."""


class ProxyRefused(ProviderError):
    """A proxy does not let us through; `cure` is the advice of `web.certificates.cure_of`."""

    def __init__(self, message: str, *, cure: str = "") -> None:
        super().__init__(message)
        self.cure = cure


class CertificateRefused(ProviderError):
    """The server's certificate is not trusted; `cure` as for `ProxyRefused`."""

    def __init__(self, message: str, *, cure: str = "") -> None:
        super().__init__(message)
        self.cure = cure


class ProviderBroke(ProviderError):
    """A model server on this machine or in its network broke down, also when it was asked once
    more; or it says that it cannot run the model, for example for lack of memory."""


class ProviderBilling(ProviderError):
    """The account behind the key has no money left, or one of its spending limits is reached."""


class ContentFiltered(ProviderError):
    """The service declined this content."""


class DeliveryError(AouoError):
    """A chat did not take a message."""


class NotSent(DeliveryError):
    """The request was never written, or was answered with a passing failure."""


class FloodControl(DeliveryError):
    """The service asks for a pause of `retry_after_s` seconds in this chat."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RecipientGone(DeliveryError):
    """The bot was blocked or kicked, or the chat was deleted; do not try this chat again.

    `muted`: the bot is in the chat, but may not write there.
    """

    def __init__(self, message: str, *, muted: bool = False) -> None:
        super().__init__(message)
        self.muted = muted


class DeliveryRefused(DeliveryError):
    """The service will never take this message as it is."""


class TopicGone(DeliveryRefused):
    """The topic was deleted or `closed`; the chat around it may still be there."""

    def __init__(self, message: str, *, closed: bool = False) -> None:
        super().__init__(message)
        self.closed = closed


class NoTopics(DeliveryRefused):
    """Topics are switched off in this chat."""


class NoPhoto(DeliveryRefused):
    """The file is too large, too long or too wide for a photo; as a file it may be taken."""


class NotOffered(DeliveryRefused):
    """The server does not know this call; it is older than the call."""


class NoRight(DeliveryRefused):
    """The bot is no administrator here, or lacks the right that the call needs."""


class ChatMoved(DeliveryError):
    """The group became a supergroup; `chat_id` is its new id."""

    def __init__(self, chat_id: str) -> None:
        super().__init__(f"the chat moved to {chat_id}")
        self.chat_id = chat_id


class DeliveryUnknown(DeliveryError):
    """No answer came after the request was written; it may have arrived."""


class FileNotFetched(AouoError):
    """A file that a person sent could not be downloaded; `str` is for the log only.

    `limit_bytes`: it is larger than the server hands out, 0 = it is not. `gone`: the server does
    not have it any more.
    """

    def __init__(self, message: str, *, limit_bytes: int = 0, gone: bool = False) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes
        self.gone = gone


class ToolFailed(AouoError):
    """A tool call failed; the model reads the text as its result, and how to call it right."""


class Unstorable(AouoError):
    """The database cannot hold the values; none of them was stored. `str` names the place in the
    code that failed, and quotes no value."""


class OutcomeUnknown(ToolFailed):
    """A call was cut off while it ran; `then` tells the model what to do about it."""

    def __init__(
        self, why: str, then: str = "Do not repeat it blindly; check first, and tell the person."
    ) -> None:
        super().__init__(why)
        self.then = then

    @property
    def told(self) -> str:
        """The text of the result that the model reads."""
        return f"[outcome unknown: {' '.join(filter(None, (str(self), self.then)))}]"


def may_have_arrived(more: str = "") -> OutcomeUnknown:
    """Return the error for a tool that sent something to the chat, when no answer came."""
    why = f"it may have arrived, do not send it again. {more}".rstrip()
    return OutcomeUnknown(why, then="")


class LostClaim(AouoError):
    """A write carried an older claim number: another worker holds the job now."""


class StopAsked(AouoError):
    """The person said /stop and was told that the job ends, so no answer of it may follow."""


class PostActionFailed(AouoError):
    """A post-action could not be done, so its answer is not kept; `kind` is its name."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"post-action {kind!r}: {why}")
        self.kind = kind


class StepError(AouoError):
    """A pipeline step broke its contract; names the step."""


def place_of(error: BaseException) -> str:
    """Return the error's class and its innermost file and line.

    Its words are left out: they may quote what a person or a service sent.
    """
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f" at {basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
