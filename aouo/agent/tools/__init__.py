"""What a model may call: a registry, and one file for each subject of tools."""
