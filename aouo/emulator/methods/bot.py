"""Methods about the bot itself: who it is, its commands, its webhook, its files."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

from aouo.emulator.files import file_json
from aouo.emulator.jsons import JsonObject
from aouo.emulator.parameters import Parameters
from aouo.emulator.refusal import bad_request
from aouo.emulator.world import World

MAX_COMMANDS = 100
MAX_COMMANDS_BYTES = 7_987  # "about 7.8 KB": reported, not documented
_COMMAND = re.compile(r"^[a-z0-9_]{1,32}$")
_SECRET = re.compile(r"^[A-Za-z0-9_-]{1,256}$")
_PORTS = frozenset({80, 88, 443, 8443})


def get_me(world: World, params: Parameters, now: float) -> Any:
    return world.bot.as_json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": world.private_topics,
        "allows_users_to_create_topics": world.private_topics,
    }


def log_out(world: World, params: Parameters, now: float) -> bool:
    return True


def close(world: World, params: Parameters, now: float) -> bool:
    return True


def set_webhook(world: World, params: Parameters, now: float) -> bool:
    """Set the webhook that `webhook.WebhookCaller` calls; `.invalid` names are refused."""
    url, secret = params.text("url"), params.text("secret_token")
    if url:
        _check_url(url)
    if secret and not _SECRET.match(secret):
        raise bad_request("secret token contains unallowed characters")
    world.webhook = {"url": url, "secret": secret} if url else {}
    if params.has("allowed_updates"):
        world.updates.allow([str(item) for item in params.values["allowed_updates"]])
    if params.flag("drop_pending_updates"):
        world.updates.clear()
    return True


def delete_webhook(world: World, params: Parameters, now: float) -> bool:
    world.webhook = {}
    if params.flag("drop_pending_updates"):
        world.updates.clear()
    return True


def get_webhook_info(world: World, params: Parameters, now: float) -> Any:
    info: JsonObject = {
        "url": world.webhook.get("url", ""),
        "has_custom_certificate": False,
        "pending_update_count": len(world.updates),
    }
    for name in ("last_error_date", "last_error_message"):
        if name in world.webhook:
            info[name] = world.webhook[name]
    return info | ({"allowed_updates": world.updates.allowed} if world.updates.allowed else {})


def set_my_commands(world: World, params: Parameters, now: float) -> bool:
    commands = params.objects("commands")
    size = len(json.dumps(commands, ensure_ascii=False).encode())
    if len(commands) > MAX_COMMANDS or size > MAX_COMMANDS_BYTES:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        name = str(command["command"]).removeprefix("/")
        if not _COMMAND.match(name):
            raise bad_request("BOT_COMMAND_INVALID")
        size = len(str(command["description"]))
        if size > 256:
            raise bad_request("command description length must not exceed 256")
        if size == 0:
            raise bad_request("command description must be non-empty")
    world.commands[_scope(params)] = [
        {
            "command": str(command["command"]).removeprefix("/"),
            "description": command["description"],
        }
        for command in commands
    ]
    return True


def get_my_commands(world: World, params: Parameters, now: float) -> Any:
    return world.commands.get(_scope(params), [])


def delete_my_commands(world: World, params: Parameters, now: float) -> bool:
    world.commands.pop(_scope(params), None)
    return True


def get_file(world: World, params: Parameters, now: float) -> Any:
    return file_json(world, params.text("file_id"))


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if (parts.port or 443) not in _PORTS:
        raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if (parts.hostname or "").endswith(".invalid"):
        raise bad_request("bad webhook: Failed to resolve host: Name or service not known")


def _scope(params: Parameters) -> tuple[str, str]:
    scope = params.object("scope") or {"type": "default"}
    return json.dumps(scope, sort_keys=True), params.text("language_code")
