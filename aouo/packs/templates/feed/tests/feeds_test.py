"""`aouo pack test .` runs these inside the sandbox."""

import unittest

from aouo_pack import db, fake
from feeds import refresh

RSS = (
    "<rss><channel><item><title>One</title><link>https://a.example/1</link></item></channel></rss>"
)


class Feeds(unittest.TestCase):
    def test_what_is_new_is_told_once(self) -> None:
        with fake(settings={"most": 5}, pages={"https://a.example/feed": RSS}):
            db("INSERT INTO feeds (url) VALUES ('https://a.example/feed')")
            assert refresh() == "• One\nhttps://a.example/1"
            assert refresh() == ""
