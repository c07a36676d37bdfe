"""Answers for a model too small to chat: worked examples choose the tool call, and rows the answer.

A model below a billion parameters hardly follows instructions and makes things up, so it never
writes words that a person reads. A tool is called when a message has the form of one of the tool's
own examples (`"examples"` in its parameter schema, `{"user": words, "arguments": {…}}`): the words
around a value are the example's, the value is the person's own, letter by letter. Only if a message
fits several examples is the model asked which: by the probability that it gives each one's first
token, calibrated by that for an empty message (Zhao et al. 2021, "Calibrate before use"), together
with the likeness of the words. The result of a call is told from its rows; everything else gets one
sentence, with examples to tap.
"""
