"""The sentences that the runtime says to people, one module for each subject."""
