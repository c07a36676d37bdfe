"""`aouo setup`: asks what the bot needs, and tries each answer before it is kept."""
