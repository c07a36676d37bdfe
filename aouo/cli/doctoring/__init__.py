"""The checks of `aouo doctor`, one module per part."""
