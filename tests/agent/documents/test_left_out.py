"""A document is read with what belongs to it, and says what it leaves out. Source: issue 30, 4."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Text
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

from aouo.agent.documents import kinds
from aouo.agent.documents.reading import read
from tests.fakes.documents import docx, p, packed, pdf, xlsx

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


async def told(data: bytes, name: str) -> str:
    found = await read(data, name=name)
    return f"({found.note})\n{found.text}"


def book(cells: str, **parts: str) -> bytes:
    """A workbook whose one sheet has these cells, and further parts."""
    with zipfile.ZipFile(io.BytesIO(xlsx({"Sums": [["x"]]}))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["xl/worksheets/s1.xml"] = f'<worksheet xmlns="{_MAIN}">{cells}</worksheet>'.encode()
    return packed(files | {name: xml.encode() for name, xml in parts.items()})


ROWS = """<sheetData><row r="1"><c r="A1"><v>2</v></c><c r="B1" s="1"><v>0.5</v></c></row>
<row r="2"><c r="A2"><v>3</v></c><c r="B2"><f>SUM(A1:A2)</f></c></row>
<row r="3"><c r="A3" t="inlineStr"><is><t>Ann</t></is></c><c r="B3"><f>A1*2</f><v>4</v></c></row>
</sheetData><mergeCells count="1"><mergeCell ref="A3:A5"/></mergeCells>"""
COMMENTS = f"""<comments xmlns="{_MAIN}"><commentList><comment ref="A1" authorId="0"><text><r>
<t>too </t></r><r><t>low &amp; late</t></r></text></comment></commentList></comments>"""
RELS = """<Relationships><Relationship Id="r1" Target="../comments1.xml"/></Relationships>"""
STYLES = f"""<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/></cellXfs>
</styleSheet>"""


async def test_a_sheet_says_what_its_cells_hold_besides_their_values() -> None:
    parts = {
        "xl/comments1.xml": COMMENTS,
        "xl/worksheets/_rels/s1.xml.rels": RELS,
        "xl/styles.xml": STYLES,
        "xl/media/image1.png": "x",
    }

    found = await told(book(ROWS, **parts), "a.xlsx")

    assert "[formulas without a stored value: B2 = SUM(A1:A2)]" in found
    assert "[merged, the value stands in the first cell: A3:A5]" in found
    assert "[comment on A1: too low & late]" in found
    assert "[shown in the format 0%: B1]" in found
    assert "not read: 1 picture" in found
    assert "A1*2" not in found


async def test_a_million_merged_ranges_are_counted() -> None:
    ranges = '<mergeCell ref="A2:A4"/>' * 1_000_000

    found = await told(book(f"<sheetData/><mergeCells>{ranges}</mergeCells>"), "a.xlsx")

    assert "and 999,980 more]" in found


def note(tag: str, number: int, text: str, more: str = "") -> str:
    return f'<w:{tag} w:id="{number}"{more}>{p(text)}</w:{tag}>'


def part(name: str, *notes: str) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return f'<w:{name} xmlns:w="{space}">{"".join(notes)}</w:{name}>'.encode()


def word(body: str, **parts: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(docx(body))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return packed(files | parts)


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


async def test_what_was_moved_is_read_once_and_where_it_is_now() -> None:
    moved = f"<w:p><w:moveFrom>{run('plums')}</w:moveFrom></w:p>{p('and')}"
    gone = f"<w:p><w:del><w:r><w:delText>bread</w:delText></w:r></w:del>{run('milk')}</w:p>"

    there = f"<w:p><w:moveTo>{run('plums')}</w:moveTo></w:p>"

    found = await told(word(moved + there + gone), "a.docx")

    assert found == "(deleted words of tracked changes are left out)\nand\nplums\nmilk"


async def test_a_text_box_is_read_once_and_apart() -> None:
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = f"<w:txbxContent>{p('in the box')}</w:txbxContent>"
    both = f"<mc:AlternateContent {mc}><mc:Choice><w:r>{box}</w:r></mc:Choice>"
    both += f"<mc:Fallback><w:r>{box}</w:r></mc:Fallback></mc:AlternateContent>"

    found = await told(word(f"<w:p>{run('before ')}{both}{run('after')}</w:p>"), "a.docx")

    assert found == "()\nin the box\nbefore after"


async def test_notes_and_comments_stand_where_they_belong() -> None:
    refers = '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r>'
    body = f"<w:p>{run('The sum')}{refers}{run(' is due.')}</w:p>"
    parts = {
        "word/footnotes.xml": part("footnotes", note("footnote", 2, "without tax")),
        "word/comments.xml": part("comments", note("comment", 0, "check it", ' w:author="Ann"')),
        "word/header1.xml": part("hdr", p("Secret plan")),
    }

    found = await told(word(body, **parts), "a.docx")

    assert "The sum [note: without tax] [comment by Ann: check it] is due." in found
    assert "headers and footers are left out" in found


def form() -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("Leave"))))
    field = DictionaryObject(
        {
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject("days"),
            NameObject("/V"): TextStringObject("14 to 28 March"),
        }
    )
    fields = ArrayObject([writer._add_object(field)])
    writer._root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): fields})
    writer.add_annotation(0, Text(text="too long", rect=(10, 10, 20, 20)))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_a_form_is_read_with_its_fields_and_remarks() -> None:
    found = await told(form(), "a.pdf")

    assert "Leave" in found
    assert "[field days: 14 to 28 March]" in found
    assert "[comment on page 1: too long]" in found


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("имя;город\nАнна;Москва", "cp1251"),
        ("処理区分,件数\n点検,2", "shift_jis"),
        ("Proszę kupić mleko i chleb, dziękuję", "cp1250"),
        ("Καλημέρα κόσμε, τι κάνεις", "cp1253"),
        ("Grüße aus Köln", "cp1252"),
        ("中文测试文件，第一行", "gb18030"),
    ],
)
def test_a_character_set_is_guessed_and_the_guess_is_said(text: str, charset: str) -> None:
    found, note = kinds.decoded(text.encode(charset))

    assert found == text
    assert note.endswith("which is a guess")


@given(st.text(max_size=300))
def test_what_is_utf_8_is_certain(text: str) -> None:
    legible = text.encode("utf-8", "replace")
    assert kinds.decoded(legible)[1] == "" or legible[:2] in (b"\xff\xfe", b"\xfe\xff")


def test_one_damaged_sign_makes_no_other_character_set_of_utf_8() -> None:
    text, note = kinds.decoded("Grüße aus Köln, schöne Straße".encode() + b"\xe4")

    assert text.startswith("Grüße aus Köln, schöne Straße")
    assert note == "1 signs are damaged"


@pytest.mark.parametrize(
    ("table", "row"),
    [
        (
            "Tag;Empfänger;Betrag\n01.11.2026;Müller, Meier, Schulz und Söhne, Köln;-1.234,56",
            "01.11.2026 | Müller, Meier, Schulz und Söhne, Köln | -1.234,56",
        ),
        ("x;y\n1,5;2,5\n3,5;4,5", "1,5 | 2,5"),
        ("name\tnote\nAnn\tplums, bread; milk", "Ann | plums, bread; milk"),
        ('name,city\nBob,"Köln; Bonn; Ulm"', "Bob | Köln; Bonn; Ulm"),
        ("name|n\nAnn|2", "Ann | 2"),
        ("names\nAnn\nBob", "Ann"),
    ],
)
async def test_what_parts_the_cells_makes_a_table_of_them(table: str, row: str) -> None:
    assert row in (await told(table.encode(), "a.csv")).splitlines()


async def test_a_table_without_line_ends_is_read() -> None:
    assert "1 | 2 | 3" in await told(b"1,2,3" + b",4" * 100_000, "a.csv")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    ["Name;Preis\r\nKäse;3,50 €\r\n", "Привет, мир!\n", "你好 世界\n", "a", "😀 smile " * 900],
)
def test_utf_16_is_read_without_a_byte_order_mark(text: str, codec: str) -> None:
    """Many programs write none. Source: issue 43."""
    data = text.encode(codec)

    assert kinds.decoded(data) == (text, "")
    assert kinds.decoded(data, "utf-8") == (text, "")
    assert kinds.kind_of(data, "prices.csv") == "csv"


@pytest.mark.parametrize("data", [bytes(range(256)) * 9, b"\0" * 99, b"\0\x01ab\0\x02" * 50])
def test_what_is_no_text_is_no_utf_16(data: bytes) -> None:
    assert kinds.utf_16_of(data) == ""
