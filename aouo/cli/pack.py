"""`aouo pack`: the group of verbs about packs, each imported when it runs."""

from __future__ import annotations

from aouo.cli.verbs import Verb, Verbs

pack = Verbs(
    {
        "new": Verb("aouo.cli.packs.new:new", "Begin a pack that works, to be changed."),
        "validate": Verb("aouo.cli.packs.list:validate", "Check a pack, strictly."),
        "install": Verb("aouo.cli.packs.install:install", "Install a pack: shows what it may do."),
        "upgrade": Verb("aouo.cli.packs.install:upgrade", "Show what is different, and take it."),
        "uninstall": Verb("aouo.cli.packs.install:uninstall", "Remove a pack; its data stays."),
        "link": Verb("aouo.cli.packs.list:link_", "Install a pack where it lies, to work on it."),
        "list": Verb("aouo.cli.packs.list:list_", "List the installed packs."),
        "info": Verb("aouo.cli.packs.info:info", "Say what a pack is, may do and brings."),
        "permissions": Verb("aouo.cli.packs.info:permissions", "Say what a pack may do."),
        "test": Verb("aouo.cli.packs.test:test", "Run a pack's evals here."),
        "schema": Verb("aouo.cli.packs.schema:schema", "Print the JSON Schema of pack.yml."),
        "export": Verb("aouo.cli.packs.export:export", "Write a pack to one file, to share it."),
        "backup": Verb("aouo.cli.packs.backup:backup", "Write what a pack keeps to one file."),
        "restore": Verb("aouo.cli.packs.backup:restore", "Put back what a pack kept."),
        "sign": Verb("aouo.cli.packs.sign:sign", "Sign a pack with your key."),
        "keygen": Verb("aouo.cli.packs.sign:keygen", "Make a key to sign packs with."),
    },
    name="pack",
    help="Make, install, check, share and back up packs.",
)
