"""The forms in which a question can be answered: one file each, and a row in ``forms.table``."""
