"""The Paper page: every table and figure of the paper with ours beside it."""
