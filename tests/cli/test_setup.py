"""`aouo setup` in a real terminal: each answer is tried and kept, and a kill loses none.

Source: issue 29, "aouo setup", "Bad input" and "Done when".
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from aouo.cli.doctoring import parts
from aouo.cli.setup import bot
from aouo.config.settings import Settings
from aouo.plumbing.home import Home
from tests.fakes.models.profile import profile
from tests.fakes.models.service import ModelService
from tests.fakes.models.telling import says_back
from tests.fakes.telegram import LocalTelegram
from tests.path.looking import eventually
from tests.path.world import ADA, BEN

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux")

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"


@dataclass
class Terminal:
    """A terminal of 80 × 24, with a shell that knows nothing but where the home is."""

    socket: Path
    before: str = ""
    """What stood there when something was written last."""

    def screen(self) -> str:
        return self.tmux("capture-pane", "-t", "0", "-p", "-J", "-S", "-")

    def tmux(self, *arguments: str) -> str:
        command = ("tmux", "-S", str(self.socket), *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def write(self, line: str) -> None:
        self.before = self.screen()
        self.tmux("send-keys", "-t", "0", "-l", line)
        self.tmux("send-keys", "-t", "0", "Enter")

    async def shows(self, words: str) -> str:
        """Wait until the words are shown behind what was written, and return what is there."""

        async def look() -> str:
            screen = self.screen()
            return screen if screen.count(words) > self.before.count(words) else ""

        try:
            return await eventually(look)
        except TimeoutError:
            raise AssertionError(self.screen()) from None

    def kill(self) -> None:
        """End what runs in the terminal, as a power cut does."""
        (shell,) = self.tmux("list-panes", "-F", "#{pane_pid}").split()
        for pid in Path(f"/proc/{shell}/task/{shell}/children").read_text().split():
            os.kill(int(pid), signal.SIGKILL)

    def begin(self, command: str) -> None:
        self.write(f"{sys.executable} -m aouo {command}")


@asynccontextmanager
async def terminal(tmp_path: Path, **environ: str) -> AsyncGenerator[Terminal]:
    one = Terminal(tmp_path / "tmux")
    kept = {"AOUO_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = [f"{name}={value}" for name, value in {**kept, **environ}.items()]
    shell = shlex.join(["env", "-i", "TERM=screen", "LANG=C.UTF-8", "PS1=> ", *said, "sh"])
    one.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", shell)
    try:
        yield one
    finally:
        one.tmux("kill-server")


async def test_from_nothing_to_a_bot_that_answers_killed_behind_each_answer(tmp_path: Path) -> None:
    served = profile("vllm")
    async with (
        LocalTelegram(token=TOKEN) as telegram,
        ModelService(served, says_back(served), keep=False) as model,
        terminal(tmp_path, AOUO_TELEGRAM__API_BASE_URL=telegram.base_url) as one,
    ):
        (server,) = model.settings()["providers"].values()

        async def again(expected: str) -> str:
            one.kill()
            one.begin("setup")
            return await one.shows(expected)

        one.begin("setup")
        await one.shows("Token (it is not shown)")
        one.write("hello")
        await one.shows("that is not a bot token")
        one.write(TOKEN[:-1] + "2")
        await one.shows("Telegram refuses the token")
        one.write(f" {TOKEN} ")
        await one.shows("?start=")
        link = json.loads((tmp_path / "home/run/setup.json").read_text())["code"]
        await telegram.client.say(ADA, ADA, "/start")  # no tap on the link, nor is the next one
        await telegram.client.say(ADA, ADA, f"/start {link}x")
        await telegram.client.say(ADA, ADA, f"/start {link}")
        assert "✓ telegram @" in await again("Make them the owner? [Y/n]")
        await again("Ada (1001) tapped it")
        one.write("y")
        await one.shows("Number [0]")
        assert "✓ owner    id 1001" in await again("Number [0]")
        one.write("7")
        await one.shows("Address")
        one.write("http://127.0.0.1:9/v1")
        await one.shows("Key (empty")
        one.write("")
        await one.shows("Model:")
        one.write("wrong")
        await one.shows("Keep it all the same?")
        one.write("n")
        await one.shows("Number [0]")
        one.write("7")
        await one.shows("Address")
        one.write(server["base_url"])
        await one.shows("Key (empty")
        one.write(server["api_key"])
        await one.shows("Model [")
        one.write("")
        await one.shows("Which do you want?")
        assert "✓ model    own" in await again("Which do you want?")
        one.write("nonsense")
        await one.shows("There is no nonsense")
        one.write("notes")
        await one.shows("Install notes? [Y/n]")
        await again("Which do you want?")
        one.write("notes")
        await one.shows("Install notes? [Y/n]")
        one.write("")
        await one.shows("Start it now")
        assert "✓ packs    notes" in await again("Start it now")
        one.write("")
        await telegram.client.next_message(ADA, contains="Notes")  # what /start was told before
        await telegram.client.say(ADA, ADA, "say plums")
        answer = await telegram.client.next_message(ADA, contains="plums")
        home = tmp_path / "home"
        config = json.loads((home / "config.json").read_text())

    assert answer.text.endswith("You said: say plums")
    assert config["telegram"]["allowed_user_ids"] == [1001]
    assert not json.loads((home / "run/setup.json").read_text())["code"]


async def run(tmp_path: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run `aouo` without a terminal; return its exit code and all that it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aouo", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"AOUO_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), **environ},
    )
    told, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, told.decode()


async def test_without_a_terminal_it_takes_the_environment_and_keeps_only_what_is_true(
    tmp_path: Path,
) -> None:
    async with LocalTelegram(token=TOKEN) as telegram:
        local = {"AOUO_TELEGRAM__API_BASE_URL": telegram.base_url, "TELEGRAM_OWNER_ID": "7"}
        nobody = await run(tmp_path, "setup")
        refused = await run(
            tmp_path, "setup", "--from-env", TELEGRAM_BOT_TOKEN=TOKEN[:-1] + "2", **local
        )
        empty = (tmp_path / "home/config.json").read_text()
        taken = await run(tmp_path, "setup", "--from-env", TELEGRAM_BOT_TOKEN=TOKEN, **local)
        config = json.loads((tmp_path / "home/config.json").read_text())

    assert nobody[0] == 2
    assert "scripts take --from-env" in nobody[1]
    assert refused[0] == 3
    assert "Telegram refuses the token" in refused[1]
    assert TOKEN not in empty
    assert taken[0] == 0, taken[1]
    assert config["telegram"]["bot_token"] == TOKEN
    assert config["telegram"]["allowed_user_ids"] == [7]


async def asked_twice(telegram: LocalTelegram) -> bool:
    return len(await telegram.client.calls("getUpdates")) > 1


async def test_a_tap_counts_in_a_private_chat_within_a_day_and_the_other_reader_is_told(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    home.create()
    async with LocalTelegram(token=TOKEN) as telegram:
        people, base_url = telegram.client, telegram.base_url
        settings = Settings.model_validate(
            {"telegram": {"bot_token": TOKEN, "api_base_url": base_url}}
        )
        url, made_at = bot.link(home, "aouo_bot")
        words = f"/start {url.rpartition('=')[2]}"
        await people.say(BEN, BEN, "/start")
        group = await people.create_chat("Family", [ADA, BEN])
        await people.say(BEN, group, words)
        await people.say(BEN, BEN, f"{words} and more")
        late = made_at - 25 * 3600
        hook = {"url": "https://example.org/hook"}
        async with asyncio.TaskGroup() as group:
            waiting = asyncio.to_thread(bot.tapped, settings, url, late)
            seen = group.create_task(waiting)
            await eventually(partial(asked_twice, telegram))
            assert not seen.done()
            await asyncio.to_thread(partial(parts.bot_api, settings, "setWebhook", **hook))
        hindered = seen.result()
        reader = await asyncio.to_thread(bot.reader, settings)
        await asyncio.to_thread(parts.bot_api, settings, "deleteWebhook")
        await people.say(ADA, ADA, words)
        found = await asyncio.to_thread(bot.tapped, settings, url, made_at)

    assert hindered == reader
    assert "webhook of somebody else" in reader
    assert isinstance(found, bot.Tapped)
    assert found.person == ADA
    assert bot.link(home, "aouo_bot") == (url, made_at)


async def test_tables_have_a_heading_on_a_terminal_and_rows_alone_in_a_pipe(tmp_path: Path) -> None:
    await run(tmp_path, "init", "--yes")
    await run(tmp_path, "pack", "install", "notes", "--yes")
    piped = await run(tmp_path, "pack", "list")
    async with terminal(tmp_path) as one:
        one.begin("pack list")
        shown = await one.shows("1.0.0")

    assert piped[1].startswith("notes ")
    assert "PACK             VERSION  FOLDER" in shown
