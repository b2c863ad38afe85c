"""The classes of text and the parts that each is split into, in the order in which they are written and read."""

CLASSES = ("prose", "code", "docs", "chinese", "enumeration")
PARTS = ("train", "validation", "heldout")
