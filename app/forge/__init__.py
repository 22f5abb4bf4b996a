"""The forge: where the code lives. Read here, always outside of transactions."""
