"""Forms: the fields of a schema, the values in them, and what is wrong with them. Nothing here draws."""
