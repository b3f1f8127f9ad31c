"""From the model to something a person reads: text, picture, data for the browser, files."""
