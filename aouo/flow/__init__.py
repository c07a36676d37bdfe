"""Takes jobs from their claim to their end; `job.py` holds that path in one file.

Besides `app`, this is the only place where the stages meet.
"""
