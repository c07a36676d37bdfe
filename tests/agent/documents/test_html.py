"""What of a web page a model reads: what a person would see, and where its links lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.documents.html import markdown

BASE = "https://site.example/dir/page"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>A</h1><h3>B</h3>text", "# A\n\n### B\n\ntext"),
        ("<title> T\n t </title><p>x", "# T t\n\nx"),
        ("<title>T</title><h1>T</h1>x", "# T\n\nx"),
        ("a  <b>b</b>\n c<br>d &amp; &lt;e&gt;", "a b c\nd & <e>"),
        ("<ul><li>a<li>b<ol><li>c<li>d</ol></ul>", "- a\n- b\n\n  1. c\n  2. d"),
        ("<a href='/x'>go</a> <a href='#y'>here</a>", "[go](https://site.example/x) here"),
        ("<a href='javascript:alert(1)'>a</a><a href='y'> b </a>", "a [b](https://site.example/"),
        ("<a name=x>a</a><a href='http://[bad'>b</a>", "ab"),
        ("<p><a href=/x>one<p>two</a>", "one\n\n[two](https://site.example/x)"),
        (
            "<table><tr><th>K<th>V<tr><td>a<div>b</div><td>1</table>",
            "| K | V |\n| --- | --- |\n| a b | 1 |",
        ),
        ("<pre>a\n  b</pre><p><code>c</code>", "```\na\n  b\n```\n\n`c`"),
        ("<blockquote><p>q<blockquote>r</blockquote></blockquote>s", "> q\n\n> > r\n\ns"),
        ("<img src=x alt='A  cat'><img src=y>", "[image: A cat]"),
        ("<dl><dt>a<dd>b</dl>", "a\nb"),
        ("", ""),
        ("no tags", "no tags"),
        ("<p>a</div></ul></td></blockquote></main>b", "a\n\nb"),
    ],
)
def test_a_page_reads_as_markdown(page: str, text: str) -> None:
    found = markdown(page, BASE)

    assert found == text or (text.endswith("/") and found.startswith(text))


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>evil</script>",
        "<style>evil</style>",
        "<noscript>evil</noscript>",
        "<template><p>evil</p></template>",
        "<!-- evil -->",
        "<svg><text>evil</text></svg>",
        "<nav>evil <nav>evil</nav> evil</nav>",
        "<footer>evil</footer>",
        "<div hidden>evil <div>evil</div> evil</div>",
        "<span aria-hidden='true'>evil</span>",
        "<span style='color:red; Display : NONE'>evil</span>",
        "<p style='visibility:hidden'>evil<p>",
        "<ul><li hidden>evil</ul>",
        "<input value=evil hidden>",
        "<img src=evil>",
    ],
)
def test_what_a_person_would_not_see_is_no_part_of_it(hidden: str) -> None:
    """Hidden words are where instructions for a model are put."""
    assert markdown(f"<p>before</p>{hidden}<p>after</p>").split() == ["before", "after"]


def test_of_a_page_with_a_main_part_only_that_is_read() -> None:
    long = "word " * 50

    assert markdown(f"<div>menu</div><main><p>{long}</p></main><div>ads</div>") == long.strip()
    assert markdown("<div>menu</div><main>short</main>").split() == ["menu", "short"]


_TAGS = [
    "p",
    "div",
    "ul",
    "li",
    "a",
    "table",
    "tr",
    "td",
    "pre",
    "nav",
    "b",
    "br",
    "script",
    "main",
]


@given(
    st.lists(
        st.sampled_from([f"<{tag}>" for tag in _TAGS] + [f"</{tag}>" for tag in _TAGS] + ["x", " "])
    )
)
def test_any_order_of_tags_gives_text(parts: list[str]) -> None:
    found = markdown("".join(parts))

    assert found.count("x") <= parts.count("x")
    assert "\n\n\n" not in found
