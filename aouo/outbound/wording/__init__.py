"""Every sentence the runtime says to people, one module for each subject."""
