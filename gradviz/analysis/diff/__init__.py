"""What differs between two graphs or two recordings."""
