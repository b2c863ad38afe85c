#!/usr/bin/env python3
"""The whole pipeline on a tiny model, in minutes of one CPU core: text, tokenizer, bundle, 60 steps of the target, 20 of the
drafter, checkpoint, report, scan of held-out text. python3 pipeline_test.py [PATH/TO/rota-model] [--keep FOLDER]

It learns next to nothing and proves that every step runs into the next; with rota-model named, that the project's own reader
takes the checkpoint. The text is the project's own documents and sources, and generated lists."""
import glob
import json
import math
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../../.."))
sys.path[:0] = [os.path.join(HERE, "text"), HERE]
import enumerations  # noqa: E402

FILES = {"prose": "docs/*.md", "code": "src/run/*.ts", "docs": "native/*/README.md"}


# One thread: threads of one step wait for each other by spinning, which on a busy machine takes ten times as long.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=HERE, env=ENVIRONMENT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def write_text(folder):
    classes = {}
    for name, pattern in FILES.items():
        joined = "\n".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(ROOT, pattern))))
        third = max(4000, len(joined) // 5)
        classes[name] = {"train": joined[2 * third :] or joined, "validation": joined[:third], "heldout": joined[third : 2 * third] or joined}
    for seed, part in enumerate(("train", "validation", "heldout")):
        r = random.Random(seed)
        lines = (f"第{r.randrange(900)}日，{r.choice('春夏秋冬')}{r.choice('风雨雪月')}，{r.choice('山水花鸟')}{r.choice('远近高低')}。" for _ in range(400))
        classes.setdefault("chinese", {})[part] = "\n".join(lines)
        classes.setdefault("enumeration", {})[part] = "".join(text for _, text in enumerations.documents(seed, 30_000 if seed == 0 else 8_000))
    for name, parts in classes.items():
        for part, text in parts.items():
            os.makedirs(os.path.join(folder, part), exist_ok=True)
            with open(os.path.join(folder, part, name + ".jsonl"), "w", encoding="utf-8") as file:
                file.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")


def main():
    keep = sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else None
    tool = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("--") else None
    with tempfile.TemporaryDirectory() as folder:
        folder = keep or folder
        text, bundle, out = (os.path.join(folder, name) for name in ("text", "bundle", "out"))
        write_text(text)
        print(run("prepare.py", text, bundle, "--vocab", "384").splitlines()[-1])
        common = [bundle, out, "--config", "tiny", "--length", "64", "--batch", "4", "--anchors", "4", "--no-compile", "--quick"]
        log = run("train.py", *common, "--phase", "backbone", "--backbone-steps", "60")
        losses = [float(line.split("loss ")[1].split()[0]) for line in log.splitlines() if line.startswith("backbone")]
        print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f} nats a token in 60 steps")
        assert losses[-1] < math.log(384) - 0.3, losses  # well below what knows nothing but the number of tokens
        run("train.py", *common, "--phase", "draft", "--draft-steps", "20")
        print(run("train.py", *common, "--phase", "finish"))
        with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        assert set(report["classes"]) == {"prose", "code", "docs", "chinese", "enumeration"}, set(report["classes"])
        assert report["backbone"]["steps"] == 60 and report["draft"]["steps"] == 20
        run("drafting.py", bundle, os.path.join(out, "checkpoint"), os.path.join(out, "drafting"), "--quick")
        with open(os.path.join(out, "drafting", "drafting.json"), encoding="utf-8") as file:
            drafting = json.load(file)
        assert drafting["greedy"][0]["all"]["texts"] > 0, drafting
        for name, sampled in drafting["sampled_0.8"].items():
            assert sampled == report["classes"][name]["sampled_0.8"], "the checkpoint's figure is the run's own"
        if tool:
            done = subprocess.run([tool, "convert", os.path.join(out, "checkpoint"), "--out", os.path.join(out, "m.gguf")], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    print("text to checkpoint: every step runs")


if __name__ == "__main__":
    main()
