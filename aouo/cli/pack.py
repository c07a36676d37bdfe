"""`aouo pack`: the verbs about packs, each imported when it is asked for."""

from __future__ import annotations

from aouo.cli.verbs import Verb, Verbs

pack = Verbs(
    {
        "new": Verb("aouo.cli.pack_new:new", "Begin a pack that works, to be changed."),
        "validate": Verb("aouo.cli.pack_list:validate", "Check a pack, strictly."),
        "link": Verb("aouo.cli.pack_list:link_", "Install a pack where it lies, to work on it."),
        "list": Verb("aouo.cli.pack_list:list_", "List the installed packs."),
        "info": Verb("aouo.cli.pack_info:info", "Say what a pack is, may do and brings."),
        "permissions": Verb("aouo.cli.pack_info:permissions", "Say what a pack may do."),
        "test": Verb("aouo.cli.pack_test:test", "Run a pack's evals here."),
        "schema": Verb("aouo.cli.pack_schema:schema", "Print the JSON Schema of pack.yml."),
        "export": Verb("aouo.cli.pack_export:export", "Write a pack to one file, to share it."),
        "backup": Verb("aouo.cli.pack_backup:backup", "Write what a pack keeps to one file."),
        "restore": Verb("aouo.cli.pack_backup:restore", "Put back what a pack kept."),
        "sign": Verb("aouo.cli.pack_sign:sign", "Sign a pack with your key."),
        "keygen": Verb("aouo.cli.pack_sign:keygen", "Make a key to sign packs with."),
    },
    name="pack",
    help="Make, check, test, share, back up and list packs.",
)
