"""What a release kept, as data, as a table and as a picture; imports no chart library before one is drawn."""
