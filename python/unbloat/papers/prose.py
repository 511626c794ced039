"""The prose in a paper's files."""


def flowing(text: str) -> str:
    """Join the lines of each paragraph; a file breaks them where it likes, a page and a terminal elsewhere."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
