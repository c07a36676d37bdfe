"""What is known of models: from lists, from their servers, from their names."""
