"""The command line: one verb a module, each imported only when it runs."""
