"""Order and durability: the inbox, its lanes, durable waits, and pure decisions on what comes."""
