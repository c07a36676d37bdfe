"""Speech to text and text to speech, at a service or on this machine."""
