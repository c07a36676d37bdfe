"""The path of a job, from claim to settled; `job.py` is that path on one screen.

Besides `app`, this is the only place where the stages meet.
"""
