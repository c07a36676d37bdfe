"""What of a folder is looked at before anything is read; hostile ones: test_broken_packs."""

from __future__ import annotations

from aouo.packs.format.folder import FILES_MAX, look_around
from aouo.packs.validate import validate
from tests.packs.writing import MakePack


def test_what_tools_of_an_author_leave_behind_does_not_count(make_pack: MakePack) -> None:
    folder = make_pack("test")
    for name in (".git", "node_modules", "__pycache__"):
        (folder / name).mkdir()
    (folder / ".git" / "config").symlink_to("/etc/passwd")
    for number in range(FILES_MAX):
        (folder / "node_modules" / str(number)).touch()

    assert look_around(folder) == ()
    assert validate(folder) == ()


def test_a_link_that_stays_in_the_pack_is_no_problem(make_pack: MakePack) -> None:
    folder = make_pack("test")
    (folder / "skills" / "hello" / "schema.sql").symlink_to("../../schema.sql")

    assert look_around(folder) == ()


def test_links_in_a_circle_and_absolute_links_lead_out(make_pack: MakePack) -> None:
    folder = make_pack("test")
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "c").symlink_to(folder / "schema.sql")

    assert [problem.file for problem in look_around(folder)] == ["a", "b", "c"]


def test_problems_without_end_are_cut_short(make_pack: MakePack) -> None:
    folder = make_pack("test")
    for number in range(100):
        (folder / f"link{number}").symlink_to("/etc/passwd")

    assert len(look_around(folder)) == 20


def test_a_folder_that_is_not_there_is_found_by_reading_it(make_pack: MakePack) -> None:
    folder = make_pack("test")

    assert look_around(folder / "nowhere") == ()
