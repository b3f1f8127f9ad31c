"""All steps of a recording as one picture with variants, and what each step changes."""
