"""The Inspect page: one metric taken apart, and one point with its neighbours and its adversarial twin."""
