"""What the Playground page is made of."""
