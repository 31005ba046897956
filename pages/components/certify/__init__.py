"""The parts of the Certify page, in the order of its four steps."""
