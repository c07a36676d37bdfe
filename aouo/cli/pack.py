"""`aouo pack`: the group of verbs about packs, each imported when it runs."""

from __future__ import annotations

from aouo.cli.verbs import Verbs

pack = Verbs(
    {
        "new": ("aouo.cli.packs.new:new", "Begin a pack that works, to be changed."),
        "validate": ("aouo.cli.packs.list:validate", "Check a pack, strictly."),
        "install": ("aouo.cli.packs.install:install", "Install a pack: shows what it may do."),
        "upgrade": ("aouo.cli.packs.install:upgrade", "Show what is different, and take it."),
        "uninstall": ("aouo.cli.packs.install:uninstall", "Remove a pack; its data stays."),
        "link": ("aouo.cli.packs.list:link_", "Install a pack where it lies, to work on it."),
        "list": ("aouo.cli.packs.list:list_", "List the installed packs."),
        "info": ("aouo.cli.packs.info:info", "Say what a pack is, may do and brings."),
        "permissions": ("aouo.cli.packs.info:permissions", "Say what a pack may do."),
        "test": ("aouo.cli.packs.test:test", "Run a pack's evals here."),
        "schema": ("aouo.cli.packs.schema:schema", "Print the JSON Schema of pack.yml."),
        "export": ("aouo.cli.packs.export:export", "Write a pack to one file, to share it."),
        "backup": ("aouo.cli.packs.backup:backup", "Write what a pack keeps to one file."),
        "restore": ("aouo.cli.packs.backup:restore", "Put back what a pack kept."),
        "sign": ("aouo.cli.packs.sign:sign", "Sign a pack with your key."),
        "keygen": ("aouo.cli.packs.sign:keygen", "Make a key to sign packs with."),
    },
    name="pack",
    help="Make, install, check, share and back up packs.",
)
