"""Continues batches of prompts with the backbone, greedily or by sampling. Keeps caches; knows no text."""
import torch

from model import State


@torch.no_grad()
def generate(model, prompts, count, temperature=0.0, generator=None):
    """prompts [B, n] -> [B, n + count]. temperature, one for all or [B]. 0: greedy, the lowest id among equals; else softmax
    sampling."""
    state, out, ids = State(), [prompts], prompts
    t = torch.as_tensor(temperature, dtype=torch.float32, device=prompts.device).expand(len(prompts))[:, None]
    samples = bool((t > 0).any())
    for _ in range(count):
        logits = model.logits(model(ids, state).hidden[:, -1])
        logits[:, model.c.draft_noise_id] = float("-inf")
        ids = logits.argmax(-1, keepdim=True)
        if samples:
            sampled = torch.multinomial((logits / t.clamp(min=1e-3)).softmax(-1), 1, generator=generator)
            ids = torch.where(t > 0, sampled, ids)
        out.append(ids)
    return torch.cat(out, 1)
