"""DSpark: three stages that draft a block of tokens at once from the target's taps, a Markov correction from token to token,
and a confidence. Shares embedding and head with the backbone, which it never changes."""
import torch
import torch.nn.functional as F
from torch import nn

import rounding
from layers import Norm, Weight, collapse
from model import Layer, begin


class Drafter(nn.Module):
    def __init__(self, c, switches):
        super().__init__()
        self.c, self.switches = c, switches
        self.main_proj = Weight(switches, "fp8", c.dim, len(c.draft_targets) * c.dim)
        self.main_norm = Norm(c.dim, c.rms_eps)
        self.stages = nn.ModuleList(Layer(c, switches, c.layers + k) for k in range(c.draft_stages))
        self.norm = Norm(c.dim, c.rms_eps)
        self.markov_embed = Weight(switches, "bf16", c.vocab, c.markov_rank)
        self.markov_head = Weight(switches, "bf16", c.vocab, c.markov_rank)
        self.confidence = Weight(switches, "bf16", 1, c.dim + c.markov_rank)
        # The embedding of the noise token, which no text has: it is trained here and stored in its row of embed.weight.
        self.noise = nn.Parameter(torch.randn(c.dim) * 0.12)

    def context(self, taps):
        """Keys of every stage for the positions of taps [B, T, ..]: list of [B, T, head_dim]."""
        x = self.main_norm(self.main_proj(taps))
        at = torch.arange(x.shape[1], device=x.device)
        return [stage.attn.key(x, at) for stage in self.stages]

    def block(self, embed, contexts, anchors, tokens):
        """Rows x [B, A, block, D] before the last norm. anchors [B, A]: the last committed position t; tokens [B, A]: the next
        token, which stands at t + 1. embed: the backbone's embedding [vocab, D]."""
        c = self.c
        noise = rounding.through(self.noise, "bf16") if self.switches.weights else self.noise
        noise = noise.to(embed.dtype).expand(*tokens.shape, c.draft_block - 1, c.dim)
        stream, lag = begin(c, torch.cat([F.embedding(tokens, embed)[:, :, None], noise], 2))
        at = anchors[..., None] + 1 + torch.arange(c.draft_block, device=anchors.device)
        behind = anchors[..., None] - torch.arange(c.window - 1, -1, -1, device=anchors.device)  # [B, A, window]
        for stage, keys in zip(self.stages, contexts):
            stream, lag = stage.run(stream, lag, lambda x, s=stage.attn, k=keys: self.attend(s, x, k, at, behind))
        return collapse(stream, lag)

    def attend(self, attn, x, keys, at, behind):
        """The block's queries see the window of the context behind them and the whole block, themselves and what follows."""
        b, a, n, _ = x.shape
        _, q = attn.query(x, at)
        own = attn.key(x, at)
        picked = keys.gather(1, behind.clamp(min=0).flatten(1)[..., None].expand(-1, -1, keys.shape[-1]))
        both = torch.cat([picked.unflatten(1, (a, -1)), own.to(picked.dtype)], 2).flatten(0, 1)
        allowed = F.pad(behind >= 0, (0, n), value=True).flatten(0, 1)[:, None].expand(-1, n, -1)
        o, _ = attn.mix(q.flatten(0, 1), both, allowed)
        return attn.project(o.unflatten(0, (b, a)), at)

    def base(self, x, head):
        """Logits before the Markov correction; head: the backbone's."""
        return head(self.norm(x)).float()

    def corrected(self, x, base, previous):
        """Logits [.., vocab] and confidences [..] of draft positions, given the token before each: x, base with the same leading
        dimensions as `previous`."""
        embedded = F.embedding(previous, self.markov_embed.value())
        logits = base + self.markov_head(embedded).float()
        with torch.autocast(x.device.type, enabled=False):
            conf = self.confidence(torch.cat([x.float(), embedded.float()], -1))[..., 0]
        return logits, conf

    def draft(self, embed, head, contexts, anchors, tokens):
        """Greedy drafts [B, A, block], confidences [B, A, block] and logits [B, A, block, vocab]."""
        x = self.block(embed, contexts, anchors, tokens)
        base = self.base(x, head)
        previous, out = tokens, []
        for i in range(self.c.draft_block):
            logits, conf = self.corrected(x[:, :, i], base[:, :, i], previous)
            previous = logits.argmax(-1)
            out.append((previous, conf, logits))
        return tuple(torch.stack(part, 2) for part in zip(*out))
