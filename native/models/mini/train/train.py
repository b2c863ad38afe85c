#!/usr/bin/env python3
"""Trains the mini model: python3 train.py BUNDLE OUT [--config mini] [--phase all|backbone|draft|finish] ...

BUNDLE is prepare.py's output. Phases, each of which leaves OUT/PHASE.pt so that the next may run in another call:
  backbone  the target from scratch: all-visible attention first, then selection and pool, the caches' rounding, at the end the
            checkpoint's rounding of weights; the rounded weights are then its weights
  draft     the drafter on the frozen target, on text and on the target's own continuations
  finish    writes the checkpoint to OUT/checkpoint, reads it back, measures it on held-out text: OUT/report.json

A phase lasts --backbone-seconds or --draft-seconds, or so many --backbone-steps or --draft-steps where a number is given (then
the same seed gives the same batches in the same order). Compilation and evaluation do not count."""
import argparse
import json
import os
import time

import torch

import checkpoint
import evaluate
import golden
import rounding
from config import CONFIGS
from data import Batches, Bundle
from draft import Drafter
from generate import generate
from layers import Sinkhorn, Switches, Weight, sinkhorn_forward
from losses import draft_loss
from model import Backbone
from optim import Clock, Optimiser, rate
from text.classes import CLASSES

SELECT_FROM, KEYS_FROM, WEIGHTS_FROM, FREEZE_FROM = 0.5, 0.6, 0.88, 0.9  # of the backbone's schedule
BALANCE_STEP, INDEX_WEIGHT = 0.002, 0.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("out")
    parser.add_argument("--config", default="mini", choices=sorted(CONFIGS))
    parser.add_argument("--phase", default="all", choices=("all", "backbone", "draft", "finish"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--batch", type=int, default=64, help="windows a step")
    parser.add_argument("--micro", type=int, default=32, help="windows at once; halved when the memory does not hold them")
    parser.add_argument("--anchors", type=int, default=48, help="draft blocks a window")
    parser.add_argument("--backbone-seconds", type=float, default=360)
    parser.add_argument("--backbone-steps", type=int, default=0)
    parser.add_argument("--draft-seconds", type=float, default=240)
    parser.add_argument("--draft-steps", type=int, default=0)
    parser.add_argument("--validate-every", type=float, default=60, help="seconds")
    parser.add_argument("--quick", action="store_true", help="a small evaluation: proves that it runs")
    parser.add_argument("--no-compile", action="store_true")
    return parser.parse_args()


class Run:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(args.seed)
        torch.backends.cuda.matmul.allow_tf32 = True
        self.bundle = Bundle(args.bundle, self.device)
        c = CONFIGS[args.config].named(max(self.bundle.compressed) + 1)
        if self.bundle.vocab != c.vocab:
            raise SystemExit(f"{args.bundle}: a vocabulary of {self.bundle.vocab}, config {args.config} wants {c.vocab}")
        self.c = c
        self.model = Backbone(c, self.bundle.compressed).to(self.device)
        self.drafter_switches = Switches()
        self.drafter = Drafter(c, self.drafter_switches).to(self.device)
        self.micro, self.facts = min(args.micro, args.batch), {"seed": args.seed, "config": args.config, "torch": str(torch.__version__)}
        self.facts["device"] = torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu"
        os.makedirs(args.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.args.out, name)

    def save(self, phase):
        torch.save({"model": self.model.state_dict(), "drafter": self.drafter.state_dict(), "facts": self.facts}, self.path(phase + ".pt"))

    def load(self, phase):
        saved = torch.load(self.path(phase + ".pt"), map_location=self.device, weights_only=True)
        self.model.load_state_dict(saved["model"])
        self.drafter.load_state_dict(saved["drafter"])
        self.facts = saved["facts"] | self.facts

    def warm(self, step):
        """One step outside of the schedule, whose result is thrown away: compiles, and finds how many windows fit."""
        if self.device.type == "cuda" and not self.args.no_compile:
            Sinkhorn.compile_steps()
        modules = (self.model, self.drafter)
        kept = [{name: value.clone() for name, value in module.state_dict().items()} for module in modules]
        started = time.perf_counter()
        while True:
            try:
                step()
                break
            except torch.cuda.OutOfMemoryError:
                if self.micro == 1:
                    raise
                self.micro //= 2
                torch.cuda.empty_cache()
            except Exception as error:  # a compiler that is missing or fails must not cost the run
                if Sinkhorn.steps is sinkhorn_forward:
                    raise
                print(f"not compiled: {str(error).splitlines()[0]}", flush=True)
                Sinkhorn.plain_steps()
        for module, state in zip(modules, kept):
            module.load_state_dict(state)
            for p in module.parameters():
                p.grad = None
        print(f"warm after {time.perf_counter() - started:.0f} s, {self.micro} windows at once", flush=True)


def backbone_step(run, ids, progress):
    """Gradients of one batch; returns the mean loss in nats a token and the mean index loss, as tensors."""
    model = run.model
    dense = progress < SELECT_FROM
    model.switches.keys, model.switches.weights = progress >= KEYS_FROM, progress >= WEIGHTS_FROM
    chunks = ids.split(run.micro)
    total = index = 0.0
    counts = [0.0] * len(model.layers)
    for chunk in chunks:
        with evaluate.autocast(run.device):
            out = model(chunk[:, :-1], dense=dense, train_index=True)
            logits = model.logits(out.hidden)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
        others = torch.stack(out.index_loss).sum()
        ((loss + INDEX_WEIGHT * others) * (len(chunk) / len(ids))).backward()
        total, index = total + loss.detach() / len(chunks), index + others.detach() / len(chunks)
        counts = [a + layer.ffn.counts for a, layer in zip(counts, model.layers)]
    if progress < FREEZE_FROM:
        for layer, count in zip(model.layers, counts):
            layer.ffn.balance(count, BALANCE_STEP)
    return total, index


def validation(run):
    most = 400 if run.args.quick else 20_000
    with torch.no_grad():
        bits = {n: evaluate.bits_per_byte(run.model, run.bundle, "validation", n, most, run.args.length) for n in CLASSES}
    return {name: round(b, 4) for name, b in bits.items() if b is not None}


def train_backbone(run):
    args, c = run.args, run.c
    batches = Batches(run.bundle, args.length + 1, args.seed)
    warm_ids = Batches(run.bundle, args.length + 1, args.seed + 1000).draw(args.batch)
    run.warm(lambda: [backbone_step(run, warm_ids, p) for p in (0.0, 0.99)])
    optimiser, clock, curve = Optimiser(run.model.named_parameters()), Clock(args.backbone_steps, args.backbone_seconds), []
    clock.start()
    last = 0.0
    while (progress := clock.progress()) < 1:
        loss, index = backbone_step(run, batches.draw(args.batch), progress)
        norm = optimiser.step(rate(progress))
        clock.step += 1
        if clock.step % 20 == 0 or clock.step == 1:
            print(f"backbone {clock.step:5} {progress:5.1%} loss {loss.item():.4f} index {index.item():.2f} norm {norm.item():.2f} {clock.seconds():.0f} s", flush=True)
        if clock.seconds() - last >= args.validate_every:
            last = clock.seconds()
            with clock.outside():
                curve.append({"step": clock.step, "bits_per_byte": validation(run)})
                print(f"  validation, bits a byte: {curve[-1]['bits_per_byte']}", flush=True)
    bake(run.model)
    run.model.switches.keys = True
    curve.append({"step": clock.step, "bits_per_byte": validation(run)})
    print(f"  validation at the end: {curve[-1]['bits_per_byte']}", flush=True)
    run.facts["backbone"] = {"steps": clock.step, "tokens": clock.step * args.batch * args.length, "seconds": round(clock.seconds(), 1), "validation": curve}
    run.save("backbone")


@torch.no_grad()
def bake(module):
    """Weights become what the checkpoint will hold of them. Doing it again changes nothing."""
    for part in module.modules():
        if isinstance(part, Weight):
            part.weight.copy_(rounding.through(part.weight, part.kind))
        elif type(part).__name__ == "Norm":
            part.weight.copy_(rounding.through(part.weight, "bf16"))
    module.switches.weights = False


class OwnText:
    """Continuations that the target makes of training text, half greedy and half sampled, made anew now and then."""

    def __init__(self, run, prompts=4096, before=64, made=192):
        if run.device.type == "cpu":
            prompts, before, made = 4, 16, 12
        self.run, self.made, self.before = run, made, before
        self.source = Batches(run.bundle, before, run.args.seed + 2000)
        self.generator = torch.Generator(run.device).manual_seed(run.args.seed)
        self.count, self.ids = prompts, None

    def refresh(self):
        temperature = torch.tensor([0.0, 0.8]).repeat(self.count // 2).to(self.run.device)
        with evaluate.autocast(self.run.device):
            self.ids = generate(self.run.model, self.source.draw(self.count), self.made, temperature, self.generator)

    def draw(self, count, random):
        return self.ids[torch.from_numpy(random.integers(0, len(self.ids), count)).to(self.ids.device)]


def draft_step(run, ids, first, random):
    """Gradients for one batch of ids [B, T]; anchors are drawn from `first` on."""
    c, hits = run.c, 0.0
    last = ids.shape[1] - c.draft_block - 1
    chunks = ids.split(run.micro)
    for chunk in chunks:
        anchors = torch.from_numpy(random.integers(first, last, (len(chunk), run.args.anchors))).to(run.device)
        with evaluate.autocast(run.device):
            with torch.no_grad():
                out = run.model(chunk)
            loss, hit = draft_loss(run.drafter, run.model, out, chunk, anchors)
        (loss * (len(chunk) / len(ids))).backward()
        hits = hits + hit.detach() / len(chunks)
    for stage in run.drafter.stages:
        stage.ffn.balance(stage.ffn.counts, BALANCE_STEP)
    return hits


def train_draft(run):
    args = run.args
    run.model.requires_grad_(False)
    run.model.switches.keys = run.drafter_switches.keys = True
    batches, own = Batches(run.bundle, args.length, args.seed + 1), OwnText(run)
    random = batches.random
    own.refresh()
    run.warm(lambda: (draft_step(run, batches.draw(args.batch), 8, random), draft_step(run, own.draw(args.batch, random), own.before, random)))
    optimiser, clock, refreshed = Optimiser(run.drafter.named_parameters()), Clock(args.draft_steps, args.draft_seconds), 0.0
    clock.start()
    while (progress := clock.progress()) < 1:
        run.drafter_switches.weights = progress >= 0.85
        if progress - refreshed > 0.25:
            refreshed = progress
            own.refresh()
        text = clock.step % 3 == 0  # what it will draft is the target's own text, so most of what it learns from is
        ids = batches.draw(args.batch) if text else own.draw(args.batch, random)
        hits = draft_step(run, ids, 8 if text else own.before, random)
        optimiser.step(rate(progress))
        clock.step += 1
        if clock.step % 30 < 2:
            print(f"draft {clock.step:5} {progress:5.1%} {'text' if text else 'own '} hits {[round(h, 3) for h in hits.tolist()]} {clock.seconds():.0f} s", flush=True)
    run.drafter_switches.weights = False
    run.facts["draft"] = {"steps": clock.step, "seconds": round(clock.seconds(), 1), "last_hits": [round(h, 4) for h in hits.tolist()]}
    run.save("draft")


def finish(run):
    folder = run.path("checkpoint")
    sizes = checkpoint.write(folder, run.model, run.drafter, run.bundle.compressed)
    for name in ("tokenizer.json", "tokenizer_config.json", "tokenizer_golden.json"):
        with open(os.path.join(run.args.bundle, name), "rb") as source, open(os.path.join(folder, name), "wb") as copy:
            copy.write(source.read())
    checkpoint.restore(run.model, run.drafter, folder)
    golden.write(os.path.join(folder, "golden.bin"), run.model, run.drafter, run.bundle)
    run.model.switches.keys = run.drafter_switches.keys = True
    import tokenizer as tok

    codec = tok.load(run.args.bundle)
    text_of = lambda name: codec.decode(run.bundle.part("heldout", name).tolist(), skip_special_tokens=True).encode()
    run.facts["classes"] = evaluate.full_report(run.model, run.drafter, run.bundle, text_of, run.args.quick)
    run.facts["bytes"] = sizes
    with open(run.path("report.json"), "w", encoding="utf-8") as file:
        json.dump(run.facts, file, indent=1)
        file.write("\n")
    print(f"written: {folder}, {sum(sizes.values()) / 1e6:.2f} MB, and {run.path('report.json')}")


def main():
    args = arguments()
    run = Run(args)
    phases = {"backbone": train_backbone, "draft": train_draft, "finish": finish}
    order = list(phases)
    if args.phase in ("draft", "finish"):
        run.load(order[order.index(args.phase) - 1])
    for name in order if args.phase == "all" else [args.phase]:
        phases[name](run)


if __name__ == "__main__":
    main()
