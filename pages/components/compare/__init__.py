"""The Compare page: robust-error curves of any runs, shipped or computed here."""
