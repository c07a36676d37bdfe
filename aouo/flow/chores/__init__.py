"""Does what the runtime has to do by itself, beside the turns."""
