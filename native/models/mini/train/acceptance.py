"""How many drafted tokens stand along a given continuation, by either rule of acceptance, and what a pass is then worth. Owns that
arithmetic; knows no text and draws nothing: passes are expected values.

A continuation that was sampled from p fixes what comes out of speculation; what is left to chance is whether a token was
accepted or came from the residual. Of the token v it came from a draft out of q with probability min(p, q)(v) / p(v), so that
over continuations the share is sum_v min(p, q): exact rejection sampling (Leviathan et al. 2023), as native/decode does it."""
import torch


class Path:
    """ids [B, before + made] and what one pass over them gives. Anchors are the places whose next token is committed: a pass at
    place a has ids[before + a] and verifies drafts of what follows. What lies past the end agrees with no draft."""

    @torch.no_grad()
    def __init__(self, model, drafter, ids, before):
        self.model, self.drafter, self.ids, self.before = model, drafter, ids, before
        self.block, self.places = model.c.draft_block, ids.shape[1] - before - 1
        self.anchors = (before - 1 + torch.arange(self.places, device=ids.device)).expand(len(ids), -1)
        self.out = model(ids)
        self.contexts = drafter.context(self.out.taps)

    def tokens(self):
        return self.ids[:, self.before : -1]

    def ahead(self, values, past_end):
        """values [B, n] of all positions -> [B, places, block]: for the tokens that drafts at each place stand for."""
        padded = torch.nn.functional.pad(values, (0, self.block), value=past_end)
        return padded[:, self.before + 1 :].unfold(1, self.block, 1)[:, : self.places]

    @torch.no_grad()
    def agreement(self):
        """Greedy drafts: [B, places, block] 1 where a draft is the path's token, and the drafter's confidences."""
        drafts, conf, _ = self.drafter.draft(self.model.embed.value(), self.model.head, self.contexts, self.anchors, self.tokens())
        return (drafts == self.ahead(self.ids, -1)).double(), conf.float()

    @torch.no_grad()
    def chance(self, temperature):
        """Drafts sampled at the path's temperature: [B, places, block] min(1, q / p) of the path's token, drafts before it being
        the path's own."""
        follow = self.ahead(self.ids, 0)
        x = self.drafter.block(self.model.embed.value(), self.contexts, self.anchors, self.tokens())
        previous = torch.cat([self.tokens()[..., None], follow[..., :-1]], -1)
        drafted, _ = self.drafter.corrected(x, self.drafter.base(x, self.model.head), previous)
        logits = self.model.logits(self.out.hidden[:, :-1])
        logits[..., self.model.c.draft_noise_id] = float("-inf")  # as generate.py draws
        p = picked(logits / temperature, self.ids[:, 1:])
        q = picked(drafted / temperature, follow)
        target = self.ahead(torch.nn.functional.pad(p, (1, 0)), float("inf"))
        return (q - target).exp().clamp(max=1).double()


def picked(logits, ids):
    """log softmax [..] of ids [..] under logits [.., vocab]"""
    return logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]


def starts(stands):
    """stands [B, places, block]: the probability that draft i stands, those before it standing. Returns [B, places]: how often
    a pass starts at each place; the first one starts at 0. Their sum is a text's passes."""
    count, places, block = stands.shape
    out = torch.zeros(count, places + block + 1, dtype=torch.float64, device=stands.device)
    out[:, 0] = 1
    for at in range(places):
        reached = out[:, at].clone()
        for i in range(block):
            out[:, at + i + 1] += reached * (1 - stands[:, at, i])
            reached = reached * stands[:, at, i]
        out[:, at + block + 1] += reached
    return out[:, :places]


def distinct(ids):
    """[B, n] -> [B]: how many of a text's tokens differ, as a share."""
    return torch.tensor([len(set(row)) / len(row) for row in ids.tolist()], dtype=torch.float64)
