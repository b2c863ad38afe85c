"""Muon for the matrices inside layers (with Moonlight's scale), AdamW for everything else, and the schedule of both."""
import math
import time

import torch

MUON_LR, ADAM_LR, DECAY = 4e-3, 3e-3, 0.1
NOT_MUON = ("embed", "head", "gate", "markov", "confidence", "hc_", "q_weight", "k_weight", "norm", "sink", "noise", "weights_proj")


def newton_schulz(g):
    """Nearest semi-orthogonal matrices of a stack [n, rows, cols], in bf16, five steps (Jordan et al., 2024)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        s = x @ x.mT
        x = a * x + (b * s + c * s @ s) @ x
    return (x.mT if tall else x).float()


class Muon:
    """Momentum, orthogonalised; matrices of one shape go through the steps together."""

    def __init__(self, parameters, momentum=0.95):
        self.groups, self.momentum = {}, momentum
        for p in parameters:
            self.groups.setdefault(p.shape[-2:], []).append(p)
        self.buffers = {shape: [torch.zeros_like(p) for p in ps] for shape, ps in self.groups.items()}

    @torch.no_grad()
    def step(self, scale):
        lr = MUON_LR * scale
        for shape, ps in self.groups.items():
            buffers = self.buffers[shape]
            grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in ps]
            torch._foreach_mul_(buffers, self.momentum)
            torch._foreach_add_(buffers, grads)
            nesterov = torch._foreach_add(grads, buffers, alpha=self.momentum)
            update = newton_schulz(torch.cat([g.reshape(-1, *shape) for g in nesterov]))
            pieces = update.split([g.reshape(-1, *shape).shape[0] for g in nesterov])
            torch._foreach_mul_(ps, 1 - lr * DECAY)
            size = 0.2 * max(shape) ** 0.5
            torch._foreach_add_(ps, [u.reshape(p.shape) for u, p in zip(pieces, ps)], alpha=-lr * size)


class Optimiser:
    def __init__(self, named_parameters):
        matrices, rest = [], []
        for name, p in named_parameters:
            if p.requires_grad:
                (rest if p.ndim < 2 or any(word in name for word in NOT_MUON) else matrices).append(p)
        self.parameters = matrices + rest
        self.muon = Muon(matrices)
        decayed = [p for p in rest if p.ndim >= 2]
        plain = [p for p in rest if p.ndim < 2]
        groups = [{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}]
        self.adam = torch.optim.AdamW([g for g in groups if g["params"]], lr=ADAM_LR, betas=(0.9, 0.95), eps=1e-10)

    def step(self, scale):
        """scale in [0, 1] of both learning rates. Returns the gradient's norm, which is clipped to 1."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.muon.step(scale)
        for group in self.adam.param_groups:
            group["lr"] = ADAM_LR * scale
        self.adam.step()
        for p in self.parameters:
            p.grad = None
        return norm


def rate(progress, warm=0.03):
    """Share of the full learning rate: linear up, then a cosine to 2 %."""
    if progress < warm:
        return progress / warm + 1e-3
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - warm) / (1 - warm))))


class Clock:
    """How far a phase is: by steps where a number is given, else by seconds. Compilation and evaluation stand outside: the
    clock starts when start() is called, and `with clock.outside():` stops it."""

    def __init__(self, steps, seconds):
        self.steps, self.budget, self.step, self.spent, self.since = steps, seconds, 0, 0.0, None

    def start(self):
        self.since = time.perf_counter()

    def seconds(self):
        return self.spent + (time.perf_counter() - self.since if self.since is not None else 0)

    def progress(self):
        return self.step / self.steps if self.steps else self.seconds() / self.budget

    def outside(self):
        return _Outside(self)


class _Outside:
    def __init__(self, clock):
        self.clock = clock

    def __enter__(self):
        self.clock.spent, self.clock.since = self.clock.seconds(), None

    def __exit__(self, *_):
        self.clock.start()
