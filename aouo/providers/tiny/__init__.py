"""How a model of 135 million parameters is asked: short prompts, choices it cannot get wrong.

It follows no instructions to speak of, but it continues patterns. So nothing here explains; a
few worked examples are shown and the next one is left open. The examples are the tools' own:
`"examples"` in a tool's parameter schema, each either `{"user": words, "arguments": {…}}` or
just an arguments object. Without examples, the schema's enums and names stand in.

What to do is chosen by the chance the model gives to each option's first token, corrected
for what it says to no message at all (Zhao et al. 2021, "Calibrate before use") and joined with
how alike the words are to each option's examples. Values that examples copy out of their message
are chosen under a grammar that only has pieces of the message.
"""
