"""Files of text: tagged, annotated, with regions."""
