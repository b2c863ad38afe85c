"""Continues batches of prompts with the backbone, greedily or by sampling. Keeps caches; knows no text."""
import torch

from model import State


@torch.no_grad()
def generate(model, prompts, count, temperature=0.0, generator=None):
    """prompts [B, n] -> [B, n + count]. temperature 0: greedy, the lowest id among equals; else softmax sampling."""
    state, out, ids = State(), [prompts], prompts
    for _ in range(count):
        logits = model.logits(model(ids, state).hidden[:, -1])
        logits[:, model.c.draft_noise_id] = float("-inf")
        if temperature == 0:
            ids = logits.argmax(-1, keepdim=True)
        else:
            ids = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
        out.append(ids)
    return torch.cat(out, 1)
