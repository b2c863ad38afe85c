#!/usr/bin/env python3
"""Speed of one setting of rota-strata, by its own protocol: tok/s, ms a pass, and where the ledger says they went.

usage: drive_strata.py [--requests N] [--new N] [--prompt N] [--seconds S] BINARY MODEL [flags of rota-strata]
The first request warms up and counts nowhere. Stops asking when the seconds are over.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=4)
    parser.add_argument("--new", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    return parser.parse_args()


class Engine:
    def __init__(self, command):
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.event("ready")
        self.load_s = time.monotonic() - self.began

    def event(self, name):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == name:
                return event
            if event["event"] == "error":
                sys.exit(f"rota-strata: {event['message']}")
        sys.exit(f"rota-strata ended with {self.process.wait()} before {name}")

    def generate(self, number, prompt, new):
        body = {"id": number, "op": "generate", "prompt": prompt, "max_new": new, "ignore_eos": True}
        self.process.stdin.write(json.dumps(body) + "\n")
        self.process.stdin.flush()
        return self.event("done")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def show_ledger(path, warmed_up):
    lines = [json.loads(line) for line in open(path)]
    lines = [line for line in lines if line["id"] != warmed_up]
    for kind in ("decode", "verify"):
        of = [line for line in lines if line["kind"] == kind]
        if not of:
            continue
        mean = {key: statistics.mean(line["ms"][key] for line in of) for key in of[0]["ms"]}
        parts = ", ".join(f"{key} {value:.3f}" for key, value in mean.items())
        rows = statistics.mean(line["rows"] for line in of)
        moved = {key: sum(line["bytes"][key] for line in of) / len(of) * 1e-6 for key in of[0]["bytes"]}
        print(f"  ledger, {len(of)} {kind} passes of {rows:.2f} rows, ms: {parts}")
        print("  MB a pass: " + ", ".join(f"{key} {value:.1f}" for key, value in moved.items()))


def main():
    a = arguments()
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as ledger:
        engine = Engine([a.binary, "--model", a.model, "--ledger", ledger.name, *a.flags])
        ready = engine.ready
        print(f"{' '.join(a.flags)}\n  {ready['device']}; {ready.get('subject') or 'real weights'}; load {engine.load_s:.1f} s")
        draw = random.Random(1)
        top = ready["model"]["vocab"]
        done = []
        for number in range(a.requests + 1):
            prompt = [draw.randrange(16, top) for _ in range(a.prompt)]
            answer = engine.generate(number, prompt, a.new)
            if number > 0:
                done.append(answer)
            if done and time.monotonic() - engine.began > a.seconds:
                break
        engine.end()
        rates = [answer["timings"]["predicted_per_second"] for answer in done]
        count = {key: sum(answer["counters"][key] for answer in done)
                 for key in ("passes", "rows", "lookups", "hit", "pcie", "cpu", "file", "offered", "accepted", "admitted")}
        passes = [ms for answer in done for ms in answer["pass_ms"]]
        tokens = sum(sum(answer["pass_tokens"]) for answer in done)
        share = ", ".join(f"{key} {count[key] / count['lookups']:.4f}" for key in ("hit", "pcie", "cpu", "file"))
        print(f"  {statistics.median(rates):.2f} tok/s (median of {len(rates)}; {min(rates):.2f} to {max(rates):.2f})")
        print(f"  {statistics.median(passes):.3f} ms a pass (median of {len(passes)}), {tokens / len(passes):.2f} tokens a pass")
        print(f"  prompt {statistics.median(x['timings']['prompt_per_second'] for x in done):.1f} tok/s")
        print(f"  lookups: {share}; {count}")
        print(f"  distinct tokens {len({i for answer in done for i in answer['ids']})} of {tokens}")
        show_ledger(ledger.name, 0)


main()
