"""What is shown: each picture a function that makes data."""
