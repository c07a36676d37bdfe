"""The local web page: what is used and what it costs, for the owner, on this machine.

Listening   listening   holds the port; the rest is imported when somebody comes
access      access      who may see what: host, origin, token
site        site        the routes, and what stands around each answer
Reads       reads       what they answer, read beside the event loop
"""
