"""Lists, counts and tables, made from a seed: the class of text that speculation is good at. Owns the templates."""
import random

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ANIMALS = "ant badger crane deer eagle fox goat heron ibis jackal koala lynx mole newt otter pike quail raven seal tern urchin vole wolf yak zebra".split()
TOOLS = "hammer saw plane chisel mallet file rasp clamp drill wrench level square knife awl brush ladder".split()
FRUIT = "apple pear plum cherry grape melon fig date lemon orange peach berry quince olive nut mango".split()
CITIES = "Lisbon Madrid Paris Berne Rome Vienna Prague Warsaw Oslo Tallinn Riga Vilnius Athens Sofia Dublin London Berlin Brussels".split()
COLOURS = "red green blue white black grey brown yellow orange violet".split()
FIELDS = "id name count price weight width height colour city month score total".split()
TASKS = "sweep the stairs|wash the windows|dust the shelves|water the plants|mend the fence|oil the hinges|sort the letters|bake the bread|feed the birds|air the rooms".split("|")


def words(n):
    """A whole number below a million in English words."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")
    if n < 1000:
        return ONES[n // 100] + " hundred" + (" and " + words(n % 100) if n % 100 else "")
    return words(n // 1000) + " thousand" + (" " + words(n % 1000) if n % 1000 else "")


def roman(n):
    out = ""
    for value, letters in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        out += letters * (n // value)
        n %= value
    return out


def counting(r):
    start, step, n = r.randrange(2000), r.choice([1, 1, 1, 2, 3, 5, 7, 9, 10, 11, 25, 100]), r.randrange(30, 120)
    down = r.random() < 0.3
    numbers = [start + step * i for i in range(n)]
    numbers = numbers[::-1] if down else numbers
    form = r.choice([str, words, roman, lambda v: f"{v}."])
    sep = r.choice([", ", "\n", " ", "; "])
    head = f"Count {'down' if down else 'up'} in steps of {step}, from {form(numbers[0])} to {form(numbers[-1])}:\n"
    return head + sep.join(form(v) for v in numbers if v > 0) + "\n"


def arithmetic(r):
    n, a = r.randrange(20, 60), r.randrange(2, 400)
    kind = r.randrange(5)
    if kind == 0:
        return "".join(f"{i} squared is {i * i}.{r_sep(a)}" for i in range(a, a + n))
    if kind == 1:
        return "".join(f"{i} x {a} = {i * a}\n" for i in range(1, n))
    if kind == 2:
        return "".join(f"{a} + {i} = {a + i}\n" for i in range(r.randrange(1, 300), 340)[:n])
    if kind == 3:
        return "".join(f"{c} degrees Celsius are {c * 9 / 5 + 32:.1f} degrees Fahrenheit.\n" for c in range(a - 200, a - 200 + n))
    return "".join(f"{i}, cubed: {i ** 3}\n" for i in range(a, a + n))


def r_sep(a):
    return " " if a % 2 else "\n"


def numbered_list(r):
    pool = r.choice([ANIMALS, TOOLS, FRUIT, CITIES, COLOURS])
    name = r.choice(["Shelf", "Box", "Row", "Room", "Item", "Page", "Step", "Stop", "Crate", "Drawer"])
    form = r.choice(["{n} {i}: {a} {x}s, {b} {y}s, {c} {z}s.\n", "{i}. {x} ({a})\n", "- {n} {i}: {x} and {y}, {a} of each\n", "{n} {i} holds {a} {x}s and {b} {y}s.\n"])
    out, first = "", r.randrange(1, 90)
    for i in range(first, first + r.randrange(20, 60)):
        x, y, z = (r.choice(pool) for _ in range(3))
        out += form.format(n=name, i=i, a=words(r.randrange(2, 13)), b=words(r.randrange(2, 13)), c=words(r.randrange(2, 13)), x=x, y=y, z=z)
    return out


def calendar(r):
    year, month, day, weekday = r.randrange(1900, 2100), r.randrange(12), 1, r.randrange(7)
    lengths = [31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    out, form = "", r.choice(["{w}, {m} {d}, {y}\n", "{d} {m} {y}: {t}\n", "{w}: {t}.\n", "{y}-{k:02d}-{d:02d} {w}\n"])
    for _ in range(r.randrange(25, 70)):
        out += form.format(w=DAYS[weekday], m=MONTHS[month], d=day, y=year, k=month + 1, t=r.choice(TASKS))
        weekday, day = (weekday + 1) % 7, day + 1
        if day > lengths[month]:
            day, month = 1, (month + 1) % 12
            year += month == 0
    return out


def table(r):
    columns = r.sample(FIELDS, r.randrange(3, 6))
    first, out = r.randrange(1, 5000), ""
    kind = r.choice(["csv", "markdown", "json", "sql"])
    if kind == "csv":
        out = ",".join(columns) + "\n"
    if kind == "markdown":
        out = "| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns) + "\n"
    for i in range(first, first + r.randrange(15, 45)):
        row = [cell(r, c, i) for c in columns]
        if kind == "csv":
            out += ",".join(row) + "\n"
        elif kind == "markdown":
            out += "| " + " | ".join(row) + " |\n"
        elif kind == "json":
            out += "{" + ", ".join(f'"{c}": "{v}"' for c, v in zip(columns, row)) + "}\n"
        else:
            out += f"INSERT INTO stock ({', '.join(columns)}) VALUES (" + ", ".join(f"'{v}'" for v in row) + ");\n"
    return out


def cell(r, column, i):
    if column in ("name",):
        return r.choice(FRUIT + TOOLS)
    if column in ("colour", "city", "month"):
        return r.choice({"colour": COLOURS, "city": CITIES, "month": MONTHS}[column])
    return str(i) if column == "id" else str(r.randrange(1, 1000))


def spelling(r):
    """A is for ant, through the alphabet, with words of a chosen pool and form."""
    form = r.choice(["{u} is for {x}. ", "{u}: {x}\n", "{l} as in {x}, {n} letters\n"])
    start = r.randrange(26)
    out = ""
    for k in range(26 * r.randrange(1, 3)):
        letter = chr(97 + (start + k) % 26)
        pool = [w for w in ANIMALS + FRUIT + TOOLS + COLOURS if w[0] == letter] or [letter + "-word"]
        word = r.choice(pool)
        out += form.format(u=letter.upper(), l=letter, x=word, n=words(len(word)))
    return out + "\n"


MAKERS = [counting, counting, arithmetic, arithmetic, numbered_list, numbered_list, calendar, table, table, spelling]


def documents(seed, size):
    """(id, text) until `size` bytes are there."""
    r, made, i = random.Random(seed), 0, 0
    while made < size:
        text = "\n".join(r.choice(MAKERS)(r) for _ in range(r.randrange(1, 4)))
        made += len(text.encode())
        yield f"generated:{seed}/{i}", text
        i += 1
