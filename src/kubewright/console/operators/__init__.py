"""What operators know, from an operator in this process or from the pages of one elsewhere."""
