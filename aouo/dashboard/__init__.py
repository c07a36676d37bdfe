"""The local web page: what is done and what it costs, for the owner, on this machine.

Listening   listening   holds the port; the rest is imported when somebody comes
Shown       shown       what it shows: a running bot, or what is stored
Endpoint    endpoints   what can be asked, declared as rows
rooms       rooms/      the rows: one module for each part of the page
access      access      who may see what: host, origin, token
site        site        the routes, and what stands around each answer
"""
