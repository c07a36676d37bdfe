"""What a tool may touch: the owner's fence and the pack's files. Source: contract, security.*."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aouo.facts.errors import ToolFailed
from aouo.facts.transcript import ToolCall
from aouo.guard.fence import Area, Fence, _Mode
from aouo.guard.prepared import Allowed, Ask, Blocked, Lasting, PreparedCall, Verdict
from tests.fakes.turn_facts import facts_of


@dataclass
class Yard:
    """A person's folder, and the data folder of the pack `notes` in a home."""

    me: Path
    own: Path

    def fence(
        self,
        allowed: Sequence[str],
        mode: _Mode,
        files: Sequence[str],
        theirs: Sequence[str] | None = None,
    ) -> Fence:
        return Fence(
            allowed=allowed,
            mode=mode,
            files_of=lambda pack: files,
            folder_of=lambda pack, owner: self.own,
            files_for=lambda person: theirs,
        )


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    me, own = tmp_path / "me", tmp_path / "home" / "data" / "packs" / "notes"
    for folder in (me / "docs" / "deep", me / "other", own):
        folder.mkdir(parents=True)
    (me / "shortcut").symlink_to(me / "docs")
    (me / "docs" / "way_out").symlink_to(me / "other")
    monkeypatch.setenv("HOME", str(me))
    return Yard(me, own)


def action(tool: str, **payload: Any) -> PreparedCall:
    return PreparedCall(ToolCall("c", tool, ""), tool, payload, facts_of(), "digest")


def judged(fence: Fence, path: str, tool: str = "read_file") -> Verdict:
    return fence.judge(fence.bind(action(tool, path=path)))


@pytest.mark.parametrize("mode", ["ask", "deny", "allow"])
def test_who_is_not_the_owner_reaches_what_is_open_to_their_role_and_the_owner_may_be_asked(
    yard: Yard, mode: _Mode
) -> None:
    docs, other = f"{yard.me}/docs", f"{yard.me}/other"
    nothing = yard.fence([docs], mode, [docs, other], theirs=[])
    something = yard.fence([docs], mode, [docs], theirs=[docs, other])
    closed = judged(nothing, f"{docs}/a.txt")

    assert isinstance(closed, Ask if mode == "ask" else Blocked)
    assert not isinstance(closed, Ask) or not closed.always  # never for good
    assert isinstance(judged(nothing, "a.txt"), Allowed)
    assert isinstance(judged(something, f"{docs}/a.txt"), Allowed)
    assert isinstance(judged(something, f"{other}/a.txt"), Blocked)  # the pack does not ask for it
    assert isinstance(judged(something, f"{docs}/way_out/a.txt"), Blocked)
    assert nothing.areas("notes", "tg_8", "8")[1] == ()


@pytest.mark.parametrize("mode", ["ask", "deny", "allow"])
@pytest.mark.parametrize("path", ["a.txt", "deep/er/a.txt", ".", "", "{own}/a.txt"])
def test_the_packs_own_folder_needs_nobodys_leave(yard: Yard, mode: _Mode, path: str) -> None:
    verdict = judged(yard.fence([], mode, []), path.format(own=yard.own))

    assert isinstance(verdict, Allowed)


@pytest.mark.parametrize(
    ("allowed", "files", "in_mode"),
    [
        # owner opened it and the pack asks for it
        (["~/docs"], ["~/docs"], {"deny": Allowed, "ask": Allowed, "allow": Allowed}),
        (["~"], ["~/docs/**"], {"deny": Allowed, "ask": Allowed, "allow": Allowed}),
        (["{me}/docs/*.txt"], ["~"], {"deny": Allowed, "ask": Allowed, "allow": Allowed}),
        (["~/shortcut"], ["~/shortcut"], {"deny": Allowed, "ask": Allowed, "allow": Allowed}),
        # only the pack asks for it
        ([], ["~/docs"], {"deny": Blocked, "ask": Ask, "allow": Allowed}),
        (["~/other"], ["~/docs"], {"deny": Blocked, "ask": Ask, "allow": Allowed}),
        (["docs", ""], ["~/docs"], {"deny": Blocked, "ask": Ask, "allow": Allowed}),
        # the pack does not ask for it, whatever the owner opened
        (["~/docs"], [], {"deny": Blocked, "ask": Blocked, "allow": Blocked}),
        (["/"], ["~/other"], {"deny": Blocked, "ask": Blocked, "allow": Blocked}),
        (["~"], ["docs/**", "*"], {"deny": Blocked, "ask": Blocked, "allow": Blocked}),
    ],
)
@pytest.mark.parametrize("mode", ["deny", "ask", "allow"])
def test_a_path_needs_the_owners_fence_and_the_packs_files(
    yard: Yard,
    allowed: list[str],
    files: list[str],
    in_mode: dict[str, type[Verdict]],
    mode: _Mode,
) -> None:
    fence = yard.fence([text.format(me=yard.me) for text in allowed], mode, files)

    assert isinstance(judged(fence, "~/docs/a.txt"), in_mode[mode])
    assert isinstance(judged(fence, f"{yard.me}/other/../docs/a.txt"), in_mode[mode])


@pytest.mark.parametrize("path", ["~/docs/way_out/a.txt", "~/docs/../other/a.txt", "/etc/passwd"])
def test_links_and_dots_are_followed_before_anything_is_judged(yard: Yard, path: str) -> None:
    assert isinstance(judged(yard.fence(["~/docs"], "deny", ["~/docs"]), path), Blocked)


def test_a_link_inside_the_packs_own_folder_is_no_way_out(yard: Yard) -> None:
    (yard.own / "way_out").symlink_to(yard.me / "other")

    assert isinstance(judged(yard.fence([], "deny", []), "way_out/a.txt"), Blocked)


def test_a_question_says_what_it_is_about_and_what_always_would_cover(yard: Yard) -> None:
    fence = yard.fence([], "ask", ["~"])
    bound = fence.bind(action("write_file", path="~/shortcut/a.txt", content="äh"))
    docs = yard.me / "docs"
    lasting = (Lasting("folder", str(docs), str(docs)),)

    assert fence.judge(bound) == Ask(
        "outside security.allowed_paths", str(docs / "a.txt"), 3, lasting, "fence"
    )
    listing = judged(fence, "~/docs", "list_dir")
    assert listing == Ask(
        "outside security.allowed_paths", str(docs), always=lasting, judge="fence"
    )


def test_an_approval_is_bound_to_the_call_and_to_where_its_path_leads(yard: Yard) -> None:
    fence = yard.fence([], "ask", ["~"])
    wanted = action("read_file", path="~/docs/later")
    before = fence.bind(wanted)
    (yard.me / "docs" / "later").symlink_to(yard.me / "other" / "secret")
    after = fence.bind(wanted)

    assert before.binding != after.binding
    assert before.placed == {"path": str(yard.me / "docs" / "later")}
    assert after.placed == {"path": str(yard.me / "other" / "secret")}


@pytest.mark.parametrize(
    ("tool", "payload", "verdict"),
    [
        ("msg", {"type": "photo", "url": "/etc/passwd"}, Blocked),
        ("msg", {"type": "photo", "url": "https://example.org/a.png"}, Allowed),
        ("msg", {"type": "photo", "url": "chart.png"}, Allowed),
        ("msg", {"type": "album", "url": "https://example.org/a.png\n/etc/passwd"}, Blocked),
        ("msg", {"type": "album", "url": '["a.png", "/etc/passwd"]'}, Blocked),
        ("msg", {"type": "album", "url": ["a.png", " /etc/passwd"]}, Blocked),
        ("msg", {"type": "photo", "url": ["a.png", "/etc/passwd"]}, Blocked),
        ("msg", {"type": "album", "url": "a.png\nhttps://example.org/a.png\nb.png"}, Allowed),
        ("read_document", {"path": "/etc/hosts"}, Blocked),
        ("read_document", {"path": "https://example.org/a.pdf"}, Allowed),
        ("notes__export", {"deep": [{"file": "/etc/hosts"}]}, Blocked),
        ("persist", {"data": {"source": "/r/python", "path": "/etc"}}, Allowed),
        ("mcp__files__read", {"path": "/srv"}, Allowed),
        ("list_dir", {}, Allowed),
    ],
)
def test_what_counts_is_where_a_tool_takes_a_file(
    yard: Yard, tool: str, payload: dict[str, Any], verdict: type[Verdict]
) -> None:
    fence = yard.fence([], "deny", ["~"])

    assert isinstance(fence.judge(fence.bind(action(tool, **payload))), verdict)


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_cannot_be_a_path_is_refused(yard: Yard, path: str) -> None:
    with pytest.raises(ToolFailed, match="not a path that can be checked"):
        yard.fence([], "allow", ["/"]).bind(action("read_file", path=path))


@pytest.mark.parametrize(
    ("url", "bound"),
    [
        ("chart.png", "{own}/chart.png"),
        ("file://{own}/chart.png", "{own}/chart.png"),
        ("https://example.org/a.png", "https://example.org/a.png"),
        ("", ""),
    ],
)
def test_what_is_sent_is_the_file_that_was_judged(yard: Yard, url: str, bound: str) -> None:
    """A relative path is in the pack's own folder, never where the process happens to run."""
    wanted = action("msg", type="photo", url=url.format(own=yard.own))
    found = yard.fence([], "deny", []).bind(wanted).placed

    assert found.get("url", url) == bound.format(own=yard.own)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("/a", "/a", True),
        ("/a", "/a/.b/c", True),
        ("/a", "/ab", False),
        ("/a/", "/a/b", True),
        ("/a/*.md", "/a/x.md", True),
        ("/a/*.md", "/a/b/x.md", False),
        ("/a/*.md", "/a/x.txt", False),
        ("/a/*", "/a/.ssh", False),
        ("/a/.*", "/a/.ssh", True),
        ("/a/*/x", "/a/b/x", True),
        ("/a/*/x", "/a/b/c/x", False),
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/a/b/.git/c", False),
        ("/a/**/x.md", "/a/x.md", True),
        ("/a/**/x.md", "/a/b/c/x.md", True),
        ("/a/[bc]?", "/a/b1", True),
        ("/a/[bc]?", "/a/d1", False),
        ("/", "/anything", True),
    ],
)
def test_a_pattern_covers(pattern: str, path: str, covered: bool) -> None:
    assert Area.of(pattern, Path("/")).covers(Path(path)) == covered


@pytest.mark.parametrize(
    ("mode", "path", "root"),
    [
        ("deny", "{own}/deep/a.txt", "{own}"),
        ("deny", "{me}/docs/new/a.txt", "{me}/docs"),
        ("ask", "{me}/other/new/a.txt", None),
        ("allow", "{me}/other/new/a.txt", "{me}"),
        ("allow", "/etc/new/a.txt", None),
    ],
)
def test_new_folders_are_made_only_below_what_was_opened(
    yard: Yard, mode: _Mode, path: str, root: str | None
) -> None:
    fence = yard.fence(["~/docs"], mode, ["~"])
    found = fence.root_of("notes", "", Path(path.format(me=yard.me, own=yard.own)))

    assert found == (Path(root.format(me=yard.me, own=yard.own)) if root else None)


@pytest.mark.parametrize("path", ["https://x/../../../../x", "HTTP://../../../../../x"])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "list_dir", "read_document"])
def test_a_file_tools_path_is_a_path_whatever_it_looks_like(
    yard: Yard, tool: str, path: str
) -> None:
    assert isinstance(judged(yard.fence([], "ask", []), path, tool), Blocked)


def test_what_would_hold_the_persons_home_cannot_be_allowed_for_good(yard: Yard) -> None:
    """One tap on "Always in this folder" for ~/notes.txt would open ~/.ssh."""
    fence = yard.fence([], "ask", ["/"])
    asked = {
        path: [Path(one.target) for one in verdict.always]
        for path in ("~/notes.txt", "~/docs/a.txt", "/notes.txt")
        if isinstance(verdict := judged(fence, path), Ask)
    }

    assert asked == {"~/notes.txt": [], "~/docs/a.txt": [yard.me / "docs"], "/notes.txt": []}


def test_what_was_judged_of_an_album_is_what_the_tool_is_given(yard: Yard) -> None:
    fence = yard.fence(["~/docs"], "deny", ["~/docs"])
    bound = fence.bind(
        action("msg", type="album", url="~/shortcut/a.png\nhttps://example.org/b.png\nc d.png")
    )

    assert isinstance(fence.judge(bound), Allowed)
    assert json.loads(bound.placed["url"]) == [
        str(yard.me / "docs" / "a.png"),
        "https://example.org/b.png",
        str(yard.own / "c d.png"),
    ]


def test_the_owner_is_never_asked_about_one_file_and_gives_two(yard: Yard) -> None:
    """The card shows one path, and a yes would be bound to all of them."""
    fence = yard.fence([], "ask", ["~"])

    def verdict(*paths: str) -> Verdict:
        return fence.judge(fence.bind(action("msg", type="album", url=list(paths))))

    assert isinstance(verdict("~/docs/a.png", "b.png"), Ask)
    assert isinstance(verdict("~/docs/a.png", "~/docs/../docs/a.png"), Ask)
    assert isinstance(verdict("~/docs/a.png", "~/docs/secret.png"), Blocked)


def test_a_manifest_full_of_stars_costs_nothing_to_speak_of() -> None:
    area = Area(Path("/a"), ("**", "*") * 500 + ("z",))
    begun_s = time.process_time()

    assert not area.covers(Path("/a", *["b"] * 500))
    assert time.process_time() - begun_s < 5


def test_the_folder_of_a_user_who_is_not_there_opens_nothing(yard: Yard) -> None:
    fence = yard.fence(["~nobody-of-this-name/x"], "deny", ["/"])

    assert isinstance(judged(fence, "/etc/hostname"), Blocked)
