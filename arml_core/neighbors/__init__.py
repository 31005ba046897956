"""The references prepared for a metric, their nearest rows, and the vote: decided once, used by every answer."""
