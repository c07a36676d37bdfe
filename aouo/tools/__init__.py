"""What a model may call: a registry, the toolbox, one file per tool."""
