"""Collects what is known of models: from a catalogue, from their servers, from their names."""
