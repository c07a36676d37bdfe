"""Implements `ports.ChatModel` for model services.

A call passes eight layers, from `spending.quota`, which reserves money and removes secrets:

    FallbackModel    fallback         retries, then the next model; health and cooling
    KnownModel       known/knowing    asks again without pictures that the model refuses
    Room             room             asks again with less room for the answer
    CompatibleModel  compatible       learns the dialect, writes the body, reads printed calls
    ChatEndpoint     endpoint         time limits; turns refusals and failures into our errors
    line_to          endpoint         address and headers of one server; a `Line`
    Transport        http             httpx2 over aiohttp; repeats what a closed connection lost
    ClientSession    (aiohttp)        the runtime's one session

The answer's bytes come back as they arrive: `ChatEndpoint` feeds them to the parser of their format
(`chat/answers` or `responses/answers`, both over `event_stream`), which gives `TextDelta`s and one
`Finished`; these pass up through the same layers. For Gemini, `GeminiModel` and `gemini_line` take
the places of CompatibleModel and `line_to`. Where no
model is connected, `NoModel` stands in the place of all below FallbackModel.
"""
