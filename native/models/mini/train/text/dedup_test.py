#!/usr/bin/env python3
"""The finder of near-duplicates against planted ones: whole, re-indented, partly changed, cut out of the middle, and Chinese;
and texts of one subject that share nothing but words are kept apart. Also the generated lists: other seeds, other texts."""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dedup  # noqa: E402
import enumerations  # noqa: E402


def prose(seed, words=600):
    r = random.Random(seed)
    vocabulary = [chr(97 + i % 26) * (1 + i % 3) + str(i) for i in range(300)]
    return " ".join(r.choice(vocabulary) for _ in range(words))


def plant():
    a = prose(1)
    words = a.split()
    changed = " ".join("other" if i % 40 == 0 else w for i, w in enumerate(words))
    return a, {
        "the same": a,
        "indented, in capitals, on other lines": "\n    ".join(w.upper() + (" " if i % 7 else "") for i, w in enumerate(words)),
        "one word in 40 changed": changed,
        "its middle third": " ".join(words[200:400]),
        "itself in the middle of other text": prose(2, 100) + " " + a + " " + prose(3, 100),
    }


def main():
    a, copies = plant()
    many = dedup.shingles(a)
    for what, text in copies.items():
        share = dedup.containment(dedup.shingles(text), many)
        print(f"  {what}: {share:.2f} of it is known")
        assert share > 0.5, what
        assert dedup.without_repeats([a, prose(9), text]) == [0, 1], what
    share = dedup.containment(dedup.shingles(prose(4)), many)
    assert share < 0.01, share
    chinese = "关关雎鸠，在河之洲。窈窕淑女，君子好逑。参差荇菜，左右流之。"
    assert dedup.containment(dedup.shingles(chinese.replace("，", "， ")), dedup.shingles(chinese)) > 0.9
    assert dedup.containment(dedup.shingles("采采卷耳，不盈顷筐。嗟我怀人，置彼周行。"), dedup.shingles(chinese)) == 0
    texts = [prose(i) for i in range(20)] + [prose(3), prose(7)]
    assert dedup.without_repeats(texts) == list(range(20))
    one, same, other = (list(enumerations.documents(seed, 20_000)) for seed in (1, 1, 2))
    assert one == same and one != other
    union = dedup.union([dedup.shingles(text) for _, text in one])
    shares = [dedup.containment(dedup.shingles(text), union) for _, text in other]
    print(f"  generated lists of another seed: at most {max(shares):.2f} of one is known")
    print("near-duplicates are found")


if __name__ == "__main__":
    main()
