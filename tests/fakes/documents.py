"""Small documents of every kind that is read, made by hand: a PDF, a Word file, a workbook."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page; an empty one is a page without a text layer."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    body, places = "%PDF-1.4\n", list[int]()
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode("latin-1")


def locked_pdf() -> bytes:
    """A PDF that only opens with a password."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("password", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx(body: str, *, doctype: str = "") -> bytes:
    """A Word file with this XML in its body; `p(text, style)` makes a paragraph."""
    xml = f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body>'
    return packed({"word/document.xml": f"{xml}</w:document>".encode()})


def p(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """A workbook with these rows."""
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_LINKS}/worksheet" Target="worksheets/s{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": (
            f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r1" '
            f'Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_SHEET}" xmlns:r="{_LINKS}"><sheets>{names}</sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        lines = "".join(
            f'<row r="{y}">' + "".join(_cell(x, y, value) for x, value in enumerate(row)) + "</row>"
            for y, row in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/s{number}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData></worksheet>'
        )
    return packed({name: text.encode() for name, text in parts.items()})


def packed(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _cell(x: int, y: int, value: str | float) -> str:
    place = f"{chr(ord('A') + x)}{y}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
