"""3  Order and durability: the inbox, its lanes, and durable waits."""
