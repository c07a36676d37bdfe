"""How a model too small to chat answers: worked examples decide, and the effect is what is said.

Below a billion parameters a model follows no instructions to speak of and makes things up. So it
never writes a word that a person reads. A tool is called when a message has the form of one of the
tool's own examples (`"examples"` in its parameter schema, `{"user": words, "arguments": {…}}`):
the words around a value are the example's, the value is the person's own, letter by letter. Only
where a message fits several examples is the model asked which, by the chance that it gives to each
one's first token, corrected for what it says to no message at all (Zhao et al. 2021, "Calibrate
before use") and joined with how alike the words are. What came of a call is told from the rows as
they are; for everything else there is one sentence, with examples to tap.
"""
