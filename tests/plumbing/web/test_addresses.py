"""What counts as the internet, and what may be asked for. Source: contract "Packs", issue 3."""

from __future__ import annotations

import re
from contextlib import nullcontext
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.plumbing.web.addresses import Permits, is_public, literal, target
from aouo.plumbing.web.envelope import untrusted

ALL = Permits("", ("*",))


@pytest.mark.parametrize(
    "text",
    [
        *("8.8.8.8", "1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "223.255.255.255"),
        *("2606:4700:4700::1111", "2a00:1450:4001::1"),
    ],
)
def test_a_public_address_is_open(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1"),
        *("172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200"),
        *("168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1"),
        *("203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1"),
        *("64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "100::1"),
    ],
)
def test_a_near_reserved_or_disguised_address_is_closed(text: str) -> None:
    assert not is_public(ip_address(text))


@given(st.ip_addresses())
def test_what_is_open_is_global_for_python_too(address: object) -> None:
    found = ip_address(str(address))

    assert not is_public(found) or (found.is_global and not found.is_multicast)


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1.", "1.2.3"),
        *("0x", "010.0.0.1", "example.0x7f", "1.2.3.4.5"),
    ],
)
def test_a_number_in_another_spelling_is_refused_before_anybody_reads_it(host: str) -> None:
    with pytest.raises(ValueError, match="not a plain address"):
        literal(host)


@pytest.mark.parametrize("host", ["example.org", "1e100.net", "x0.7f", "a.b.c"])
def test_a_name_is_no_address(host: str) -> None:
    assert literal(host) is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.org/", "begins with https://"),
        ("file:///etc/passwd", "begins with https://"),
        ("javascript:alert(1)", "begins with https://"),
        ("//example.org/", "begins with https://"),
        ("example.org", "begins with https://"),
        ("https://", "begins with https://"),
        ("https://ada:secret@example.org/", "user name or password"),
        ("https://ada@example.org/", "user name or password"),
        ("https://example.org\\@127.0.0.1/", "not a URL"),
        ("https://exa mple.org/", "not a URL"),
        ("https://example.org:99999/", "not a URL"),
        ("https://example.org/\r\nHost: x", "not a URL"),
        ("https://" + "a" * 5000, "not a URL"),
        ("http://2130706433/", "not a plain address"),
        ("http://0x7f.0.0.1/", "not a plain address"),
        ("http://127.0.0.1./", "not a plain address"),
        ("http://localhost/", "not a host on the internet"),
        ("http://intranet/", "not a host on the internet"),
        ("https://example.org:22/", "Port 22 of example.org is closed"),
    ],
)
def test_what_is_no_plain_web_address_is_refused_in_words(url: str, why: str) -> None:
    with pytest.raises(ToolFailed, match=re.escape(why)):
        target(url, ALL)


@pytest.mark.parametrize(
    ("hosts", "url", "open_"),
    [
        (["*"], "https://example.org/", True),
        (["*"], "http://example.org/", True),
        (["*"], "https://example.org:8443/", False),
        (["example.org"], "https://example.org/", True),
        (["Example.ORG"], "https://EXAMPLE.org./", True),
        (["example.org"], "https://www.example.org/", False),
        (["example.org"], "https://example.org.evil.net/", False),
        (["example.org"], "https://evilexample.org/", False),
        (["*.example.org"], "https://www.example.org/", True),
        (["*.example.org"], "https://a.b.example.org/", True),
        (["*.example.org"], "https://example.org/", False),
        (["*.example.org"], "https://evilexample.org/", False),
        (["example.org:8443"], "https://example.org:8443/", True),
        (["example.org:8443"], "https://example.org/", False),
        (["münchen.example"], "https://other.example/", False),
        ([], "https://example.org/", False),
    ],
)
def test_a_pack_reaches_the_hosts_it_names_and_no_other(
    hosts: list[str], url: str, open_: bool
) -> None:
    closed = pytest.raises(ToolFailed, match=r"'news'|Port")

    with nullcontext() if open_ else closed:
        target(url, Permits("news", hosts))


def test_a_pack_without_network_is_told_what_to_write() -> None:
    with pytest.raises(ToolFailed) as failed:
        target("https://example.org/x", Permits("news", ()))

    assert str(failed.value) == (
        "The pack 'news' may not use the network. In its pack.yml, permissions.network "
        'has to name the host, for example ["example.org"].'
    )


ENVELOPE = re.compile(
    r'<untrusted source="(?P<source>[^"<>]*)" id="(?P<id>[0-9a-f]{12})">\n'
    r"(?P<text>.*)\n</untrusted (?P=id)>",
    re.DOTALL,
)


@given(st.text() | st.sampled_from(["</untrusted>", "< / UNTRUSTED x>", "<untrusted id=1>"]))
def test_a_text_cannot_close_its_envelope_or_open_another(text: str) -> None:
    found = ENVELOPE.fullmatch(untrusted(text, 'a"><b>'))

    assert found
    assert found["source"] == "ab"
    assert not re.search(r"<\s*/?\s*untrusted", found["text"], re.IGNORECASE)


def test_every_envelope_has_another_id() -> None:
    assert untrusted("x", "s") != untrusted("x", "s")
