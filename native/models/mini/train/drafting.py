#!/usr/bin/env python3
"""Tokens a pass of a model on held-out text: python3 drafting.py BUNDLE MODEL OUT [--stride 12]

BUNDLE is prepare.py's output, made with the model's tokenizer; MODEL a folder as ../checkpoint, or a GGUF as rota-model makes of
it. Two questions, each answered on texts that a rule chose before anything was measured:
  greedy   what drafts are worth where greedy text does not loop. Of every document, a prompt begins each `stride` ids; all whose
           continuation of MADE ids has at least DISTINCT of them different are kept, and no other. fp32, as the engines compute.
  sampled  evaluate.py's acceptance at 0.8, by both rules, as report.json has it.
Writes OUT/drafting.json, and OUT/CLASS-LENGTH.yaml: the prompts that were kept, and some that were not for warming up."""
import argparse
import json
import os
import time

import numpy as np
import torch

import checkpoint
import evaluate
import gguf_model
import tokenizer as tok
from acceptance import Path, distinct, starts
from config import CONFIGS
from data import Bundle
from draft import Drafter
from generate import generate
from held_out import WARMUP, write_prompts
from model import Backbone
from text.classes import CLASSES

MADE, DISTINCT = 128, 0.5
BANDS = (0, 0.2, 0.3, 0.4, 0.5, 1.01)


def load(bundle, source):
    """The target and its drafter as they are run, with the caches' rounding. The config is the one of that vocabulary."""
    c = next(c for c in CONFIGS.values() if c.vocab == bundle.vocab).named(max(bundle.compressed) + 1)
    model = Backbone(c, bundle.compressed).to(bundle.device)
    drafter = Drafter(c, model.switches).to(bundle.device)
    restore = gguf_model.restore if source.endswith(".gguf") else checkpoint.restore
    assert restore(model, drafter, source) == bundle.compressed, f"{source} is of another tokenizer than the bundle"
    model.switches.keys = True
    return model, drafter


def windows(ids, length, stride, codec):
    """[n, length] and the document of each, [n]: of each document of ids, begin and end of sequence left out, windows whose text
    is the same ids when it is encoded, so that a prompt is a text."""
    found, document, whole = [], [], np.flatnonzero(ids == tok.BOS)
    for number, (first, last) in enumerate(zip(whole, [*whole[1:], len(ids)])):
        inside = ids[first + 1 : last - 1].astype(np.int64)
        found += [inside[at : at + length] for at in range(0, len(inside) - length + 1, stride)]
        document += [number] * (len(found) - len(document))
    texts = codec.decode_batch([f.tolist() for f in found], skip_special_tokens=False)
    again = codec.encode_batch(texts, add_special_tokens=False)
    same = np.array([encoding.ids == f.tolist() for f, encoding in zip(found, again)], bool)
    return np.reshape(found, (-1, length))[same], np.array(document)[same]


def continued(model, prompts, made):
    """[n, length + made] greedy, as many at once as fit beside the first pass over their prompts."""
    return torch.cat([generate(model, some, made) for some in prompts.split(max(1, 2**18 // prompts.shape[1]))])


def passes(model, drafter, ids, before):
    """[n] passes that each text takes with greedy drafts."""
    return torch.cat([starts(Path(model, drafter, some, before).agreement()[0]).sum(1).cpu() for some in ids.split(128)])


def interval(tokens, taken, document, resamples=10_000, seed=3):
    """Of tokens a pass, 95 %, by drawing the documents anew: prompts of one stand close together, and so do their texts. None of
    one document. `tokens` is the same for each text."""
    names, unit = np.unique(document, return_inverse=True)
    if len(names) < 2:
        return None
    texts, spent = np.bincount(unit), np.bincount(unit, taken)
    pick = np.random.default_rng(seed).integers(0, len(names), (resamples, len(names)))
    return np.quantile(tokens * texts[pick].sum(1) / spent[pick].sum(1), [0.025, 0.975]).tolist()


def summary(at, share, taken, document, made):
    """Of the texts that the mask chooses: shares of distinct ids, passes and document of each."""
    share, taken, document = share[at], taken[at], document[at]
    if len(share) == 0:
        return {"texts": 0}
    return {
        "texts": len(share), "documents": len(set(document)), "tokens": (made - 1) * len(share),
        "tokens_per_pass": float((made - 1) / taken.mean()), "interval_95": interval(made - 1, taken, document),
        "distinct_ratio": float(share.mean()),
    }  # fmt: skip


def scan(model, drafter, prompts, document, made, least=DISTINCT):
    """Numbers of all prompts, of those kept, by bands; and which are kept, [n]."""
    ids = continued(model, prompts, made)
    share, taken = distinct(ids[:, prompts.shape[1] :]).numpy(), passes(model, drafter, ids, prompts.shape[1]).numpy()
    kept, of = share >= least, (share, taken, document, made)
    bands = [{"distinct": [low, min(high, 1)], **summary((share >= low) & (share < high), *of)} for low, high in zip(BANDS, BANDS[1:])]
    found = {"made": made, "least_distinct": least, "all": summary(share >= 0, *of), "kept": summary(kept, *of), "bands": bands}
    return found, kept


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.write("\n")


def scans(stride):
    """(class, ids of a prompt, ids from one prompt's beginning to the next): the first is the question, the others stand beside."""
    return [("prose", 128, stride), *((name, 128, 4 * stride) for name in CLASSES if name != "prose"), ("prose", 32, stride)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--stride", type=int, default=12, help="of prose; four times as much of the other classes")
    parser.add_argument("--quick", action="store_true", help="few and short texts: proves that it runs")
    return parser.parse_args()


def main():
    args = arguments()
    made, stride, count = (8, 480, 2) if args.quick else (MADE, args.stride, 32)
    os.makedirs(args.out, exist_ok=True)
    bundle = Bundle(args.bundle, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    model, drafter = load(bundle, args.model)
    codec = tok.load(args.bundle)
    report = {"torch": str(torch.__version__), "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu", "greedy": [], "sampled_0.8": {}}
    begun = time.perf_counter()
    for name, length, stride in scans(stride):
        prompts, document = windows(bundle.part("heldout", name).cpu().numpy(), length, stride, codec)
        found, kept = scan(model, drafter, torch.from_numpy(prompts).to(bundle.device), document, made)
        report["greedy"].append({"class": name, "prompt": length, "stride": stride, **found})
        texts = np.array(codec.decode_batch(prompts.tolist(), skip_special_tokens=False), object)
        others = texts[~kept]
        if kept.any():
            about = f"All held-out {name} prompts of {length} tokens, {stride} apart, whose next {made} greedy tokens are at least {DISTINCT:.0%} distinct ({os.path.basename(os.path.normpath(args.model))}, no begin token)."
            write_prompts(os.path.join(args.out, f"{name}-{length}.yaml"), name, about, texts[kept], others[:: max(1, len(others) // WARMUP)][:WARMUP])
        write(os.path.join(args.out, "drafting.json"), report)
        print(f"{time.perf_counter() - begun:5.0f} s  {name}, prompts of {length}: of {len(prompts)} kept {found['kept']}", flush=True)
        for band in (found["all"], *found["bands"]):
            print("        ", band, flush=True)
        if length == 128:
            report["sampled_0.8"][name] = evaluate.acceptance(model, drafter, bundle, name, 0.8, count, 128, made)
            print(f"{time.perf_counter() - begun:5.0f} s  sampled {report['sampled_0.8'][name]}", flush=True)
    write(os.path.join(args.out, "drafting.json"), report)


if __name__ == "__main__":
    main()
