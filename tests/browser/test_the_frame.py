"""What stands around the views: the way between them, what is live, and what is told."""

from __future__ import annotations

from contextlib import AsyncExitStack

from playwright.async_api import Browser

from tests.browser.looking import PHONE, looking
from tests.fakes.model_server import CallPart, Says
from tests.path.dashboard.looking import dashboard
from tests.path.looking import settled
from tests.path.schedules.scheduled import made
from tests.path.scripted import Lines
from tests.path.world import ADA, World


async def test_the_token_is_in_no_address_title_or_script(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        kept = await window.page.evaluate(
            "[location.href, document.title, document.cookie, document.referrer, "
            "document.documentElement.outerHTML, JSON.stringify({...localStorage}), "
            "...performance.getEntries().map(one => one.name)].join(' ')"
        )
        back = await window.page.evaluate("history.length")

    assert shown.token not in kept
    assert back <= 2


async def test_a_turn_that_ends_is_shown_by_itself(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("/use notes")
        await shown.bot.ask("hello")
        await settled(shown.bot)
        async with looking(browser, shown) as window:
            await window.open("#/usage")
            figure = (
                window.page.locator(".figures > div", has_text="Model calls").locator("dd").first
            )
            before = int(await figure.inner_text())
            await shown.bot.ask("hello again")
            await window.page.wait_for_function(
                "before => [...document.querySelectorAll('.figures > div')].some(one => "
                "one.innerText.startsWith('Model calls') "
                "&& Number(one.lastChild.textContent) > before)",
                arg=before,
            )

    assert before >= 1


async def test_another_range_of_days_is_read_and_shown(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("/use notes")
        await shown.bot.ask("hello")
        await settled(shown.bot)
        async with looking(browser, shown) as window:
            await window.open("#/usage")
            button = window.page.get_by_role("button", name="A year")
            async with window.page.expect_response(lambda one: "days=365" in one.url):
                await button.click()
            await window.page.locator("button[aria-pressed=true]", has_text="A year").wait_for()
            pressed = await button.get_attribute("aria-pressed")

    assert pressed == "true"


async def test_an_error_keeps_what_is_shown_and_says_so(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs")
        await window.page.route("**/api/packs", lambda route: route.abort())
        (world.home.path / "config.json").touch()  # something has changed
        problem = window.page.locator("#problem")
        await problem.wait_for()
        told, text = await problem.inner_text(), await window.page.inner_text("#view")
        window.problems.clear()
        await window.page.unroute("**/api/packs")
        (world.home.path / "config.json").touch()
        await problem.wait_for(state="hidden")

    assert told == "aouo does not answer. Trying again…"
    assert "notes" in text


async def test_going_on_moves_the_focus_there_and_says_where(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown, looking(browser, shown, width=PHONE) as window:
        await window.page.get_by_role("link", name="Packs").first.click()
        await window.shown("#/packs")
        focus = await window.page.evaluate("document.activeElement.id")
        current = await window.page.locator("#nav [aria-current=page]").inner_text()
        title = await window.page.title()
        await window.page.go_back()
        await window.shown("")

    assert (focus, current, title) == ("main", "Packs", "Packs · aouo")


async def test_the_skip_link_leads_to_the_content_of_the_same_view(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs")
        await window.page.locator(".skip").focus()
        await window.page.keyboard.press("Enter")
        focus = await window.page.evaluate("[document.activeElement.id, location.hash]")

    assert focus == ["main", "#/packs"]


async def test_what_is_drawn_anew_keeps_the_focus(world: World, browser: Browser) -> None:
    async with dashboard(world) as shown, looking(browser, shown) as window:
        await window.open("#/packs")
        await window.page.locator("#view a").last.focus()
        before = await window.page.evaluate("document.activeElement.textContent")
        await window.page.evaluate("window.former = document.activeElement")
        (world.home.path / "config.json").touch()
        await window.page.wait_for_function("() => !window.former.isConnected")
        after = await window.page.evaluate("document.activeElement.textContent")

    assert before == after


async def test_an_open_page_goes_on_with_the_next_process(world: World, browser: Browser) -> None:
    world.config = {"dashboard": {"token": "of the owner"}}
    async with AsyncExitStack() as stack:
        async with dashboard(world) as shown:
            window = await stack.enter_async_context(looking(browser, shown))
            await window.open("#/packs")
            port = shown.link.port or 0
        problem = window.page.locator("#problem")
        await window.page.wait_for_function(
            "() => document.getElementById('state').textContent === 'Not reachable'"
        )
        async with dashboard(world, port):
            await window.page.wait_for_function(
                "() => document.getElementById('state').textContent === 'Running'"
            )
            await problem.wait_for(state="hidden")
            text = await window.page.inner_text("#view")
        window.problems.clear()

    assert "notes" in text


async def test_what_is_marked_stays_until_it_is_let_go(world: World, browser: Browser) -> None:
    marked = "() => getSelection().selectAllChildren(document.querySelector('#view td'))"
    async with dashboard(world) as shown:
        await shown.bot.ask("/use notes")
        await shown.bot.ask("hi")
        await settled(shown.bot)
        async with looking(browser, shown) as window:
            await window.open("#/turns")
            rows = window.page.locator("#view tbody tr")
            before = await rows.count()
            await window.page.evaluate(marked)
            text = await window.page.evaluate("() => String(getSelection())")
            async with window.page.expect_response("**/api/turns*"):
                await shown.bot.ask("again")
            await settled(shown.bot)
            async with window.page.expect_request("**/api/turns*"):  # what was read before is drawn
                (world.home.path / "config.json").touch()
            kept = await window.page.evaluate("() => String(getSelection())"), await rows.count()
            await window.page.evaluate("() => getSelection().removeAllRanges()")
            await window.page.wait_for_function(
                "least => document.querySelectorAll('#view tbody tr').length > least", arg=before
            )

    assert text
    assert kept == (text, before)


async def test_what_is_pressed_shows_what_it_changed_whatever_is_marked(
    world: World, browser: Browser
) -> None:
    async with dashboard(world) as shown:
        await made(shown.bot, in_s=86_400, pack="notes")
        async with looking(browser, shown) as window:
            await window.open("#/schedules")
            await window.page.evaluate(
                "() => getSelection().selectAllChildren(document.querySelector('#view .card'))"
            )
            await window.page.get_by_role("button", name="Switch off: plants").click()
            await window.page.get_by_role("button", name="Switch on: plants").wait_for()


async def test_a_press_that_reaches_nobody_says_so(world: World, browser: Browser) -> None:
    ask = CallPart("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    async with dashboard(world) as shown:
        await shown.bot.ask("/use notes")
        world.model.script = Lines([Says(calls=(ask,))])
        await shown.bot.people.say(ADA, ADA, "paint it")
        async with looking(browser, shown) as window:
            await window.open("#/security")
            green = window.page.get_by_role("button", name="green")
            await green.wait_for()
            await window.page.route("**/api/approvals**", lambda route: route.abort())
            await window.page.route("**/api/approvals/*", lambda route: route.abort())
            await green.click()
            told = window.page.locator("#view [role=status]", has_text="aouo does not answer")
            await told.wait_for()
            window.problems = [one for one in window.problems if not one.startswith("console:")]


async def test_five_windows_of_a_browser_share_one_stream_and_none_hangs(
    world: World, browser: Browser
) -> None:
    """It opens six connections to one address, and each window of a chat holds one."""
    async with dashboard(world) as shown:
        await shown.bot.ask("/use notes")
        async with looking(browser, shown) as window:
            await window.open("#/packs/notes/chat")
            others = [await window.page.context.new_page() for _ in range(4)]
            fields = [one.get_by_role("textbox", name="Message") for one in others]
            for other, field in zip(others, fields, strict=True):
                await other.goto(f"{shown.link.origin()}/#/packs/notes/chat")
                await field.wait_for()
            await fields[-1].fill("what of plums?")
            await fields[-1].press("Enter")
            for page in (window.page, *others):
                await page.locator(".said.bot", has_text="what of plums?").wait_for()
            status = await others[-1].evaluate("async () => (await fetch('/api/turns')).status")

    assert status == 200
