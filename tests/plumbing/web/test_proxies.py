"""Which proxy the environment means for which address."""

from __future__ import annotations

import pytest
from yarl import URL

from aouo.facts.errors import SetupError
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import Proxies, of_environment

API = "https://api.example.com/v1"
HERE = "http://proxy.corp:3128"


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, API, ""),
        ({"HTTPS_PROXY": HERE}, API, HERE),
        ({"https_proxy": HERE}, API, HERE),
        ({"https_proxy": HERE, "HTTPS_PROXY": "http://other:1"}, API, HERE),
        ({"https_proxy": "", "HTTPS_PROXY": HERE}, API, ""),
        ({"HTTPS_PROXY": HERE}, "http://api.example.com", ""),
        ({"HTTP_PROXY": HERE}, "http://api.example.com", HERE),
        ({"ALL_PROXY": "socks5://s:1080"}, API, "socks5://s:1080"),
        ({"ALL_PROXY": "socks5://s:1080", "HTTPS_PROXY": HERE}, API, HERE),
        ({"ALL_PROXY": "socks5://s:1080", "https_proxy": ""}, API, ""),
        ({"HTTPS_PROXY": "proxy.corp:3128"}, API, HERE),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "*"}, API, ""),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "example.com"}, API, ""),
        ({"HTTPS_PROXY": HERE, "no_proxy": ".example.com"}, API, ""),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "*.example.com"}, API, ""),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "ample.com"}, API, HERE),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "a.test, API.Example.com"}, API, ""),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "api.example.com:443"}, API, ""),
        ({"HTTPS_PROXY": HERE, "NO_PROXY": "api.example.com:8443"}, API, HERE),
        ({"HTTP_PROXY": HERE, "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3:8000/v1", ""),
        ({"HTTP_PROXY": HERE, "NO_PROXY": "10.0.0.0/8"}, "http://192.168.1.2:8000/v1", HERE),
        ({"HTTP_PROXY": HERE, "NO_PROXY": "fd00::/8"}, "http://[fd00::7]:8000/v1", ""),
        ({"HTTP_PROXY": HERE, "NO_PROXY": "[fd00::7]:8000"}, "http://[fd00::7]:8000/v1", ""),
        ({"HTTP_PROXY": HERE, "NO_PROXY": "fd00::7"}, "http://[fd00::7]:8000/v1", ""),
    ],
)
def test_the_environment_means_the_same_as_elsewhere(
    environ: dict[str, str], url: str, proxy: str
) -> None:
    assert of_environment(environ).leading_to(URL(url)) == proxy


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.9", "localhost", "ollama.localhost", "[::1]", "0.0.0.0"]
)
def test_a_model_on_this_machine_is_never_asked_through_a_proxy(host: str) -> None:
    proxies = of_environment({"ALL_PROXY": "socks5://proxy.corp:1080"})

    assert proxies.leading_to(URL(f"http://{host}:11434/v1")) == ""


@pytest.mark.parametrize(
    "value", ["ftp://proxy:21", "socks4://proxy:1080", "http://", "http://a:b"]
)
def test_an_address_that_is_no_proxys_is_told_with_its_variable(value: str) -> None:
    """Going without it might be what the network forbids."""
    with pytest.raises(SetupError, match="HTTPS_PROXY"):
        of_environment({"HTTPS_PROXY": value})


def test_a_proxys_password_is_a_secret_however_it_is_spelled() -> None:
    proxies = of_environment({"HTTPS_PROXY": "http://ada:p%40ssword@proxy.corp:3128"})

    assert proxies.secrets == ("p%40ssword", "p@ssword")
    assert Proxies().secrets == ()


@pytest.mark.parametrize("password", ["a", "abc", "a@b", "p%40"])
@pytest.mark.parametrize("said", ["no way to {}", "no way to http://{}/", "{}: refused"])
def test_a_short_password_is_not_told_either(password: str, said: str) -> None:
    """Alone it is an ordinary word; where it stands in its address it is none."""
    where = f"ada:{password}@proxy.corp:3128"
    proxies = of_environment({"HTTPS_PROXY": f"http://{where}"})

    told = Redactor(proxies.secrets).text(said.format(where))
    assert f"{password}@" not in told
    assert "b@proxy" not in told
