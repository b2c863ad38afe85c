"""Attention of a target layer: window, shared compressed keys, lightning index. Owns what a layer keeps between calls.

All rows of a batch stand at the same positions first .. first + n - 1. Everything is computed densely under masks, which at
512 tokens costs less than gathering would."""
import torch
import torch.nn.functional as F
from torch import nn

import rounding
from layers import Norm, Rope, Weight


class Sources(nn.Module):
    """What a kv source owns beside the common part: compressor and index key."""

    def __init__(self, c, switches, ratio):
        super().__init__()
        self.ratio = ratio
        self.wkv = Weight(switches, "bf16", c.head_dim, c.dim)
        self.wgate = Weight(switches, "bf16", c.head_dim, c.dim) if ratio > 1 else None
        self.norm = Norm(c.head_dim, c.rms_eps)
        self.wk = Weight(switches, "bf16", c.index_head_dim, c.head_dim)
        self.k_norm = Norm(c.index_head_dim, c.rms_eps)

    def forward(self, x, held, first, rope, switches):
        """Groups completed by rows x [B, n, D]; `held` (k, gate) of the open group goes in, that of the next comes out.
        Returns latent [B, g, head_dim] roped, index keys [B, g, index dim], held."""
        r, k = self.ratio, self.wkv(x)
        gate = self.wgate(x) if r > 1 else None
        if held is not None:
            k, gate = torch.cat([held[0], k], 1), torch.cat([held[1], gate], 1)
        groups = k.shape[1] // r
        start = (first - (0 if held is None else held[0].shape[1])) // r
        rest = (k[:, groups * r :], gate[:, groups * r :]) if r > 1 and k.shape[1] % r else None
        k = k[:, : groups * r].unflatten(1, (groups, r)).float()
        if r > 1:
            weights = gate[:, : groups * r].unflatten(1, (groups, r)).float().softmax(2)
            k = k * weights
        latent = self.norm(k.sum(2))
        at = (start + torch.arange(groups, device=x.device)) * r
        keys = rope(self.k_norm(self.wk(latent.detach())), at)  # the index learns by its own loss alone
        latent = rope(latent, at)
        if switches.keys:
            keys, latent = rounding.fp4_e8m0(keys), rounding.fp4_e4m3(latent)
        return latent, keys, rest


class Index(nn.Module):
    """An index source's queries and head weights."""

    def __init__(self, c, switches):
        super().__init__()
        self.heads, self.size = c.index_heads, c.index_head_dim
        self.wq_b = Weight(switches, "fp8", c.index_heads * c.index_head_dim, c.q_lora)
        self.weights_proj = Weight(switches, "bf16", c.index_heads, c.dim)

    def forward(self, x, latent_q, keys, at, rope, switches):
        """Scores [B, n, groups] of all groups, visible or not."""
        q = rope(self.wq_b(latent_q.detach()).unflatten(-1, (self.heads, self.size)), at[:, None])
        if switches.keys:
            q = rounding.fp4_e8m0(q)
        weights = self.weights_proj(x.detach()).float() * (self.size * self.heads) ** -0.5
        dots = torch.einsum("bnhd,btd->bnht", q.to(keys.dtype), keys)
        return torch.einsum("bnht,bnh->bnt", F.relu(dots).float(), weights)


def best(scores, count, allowed):
    """Mask of the `count` largest scores of each row among the allowed; the lowest index wins a tie."""
    hidden = scores.masked_fill(~allowed, float("-inf"))
    order = torch.sort(hidden, dim=-1, descending=True, stable=True).indices[..., :count]
    return torch.zeros_like(allowed).scatter_(-1, order, True) & allowed


def pool_mask(scores, visible, lengths, blocks, size):
    """Candidate pool: the `blocks` best blocks of `size` groups by their largest score, the newest block among them."""
    n = scores.shape[-1]
    hidden = F.pad(scores.masked_fill(~visible, float("-inf")), (0, -n % size), value=float("-inf"))
    block = hidden.unflatten(-1, (-1, size)).amax(-1)
    newest = ((lengths - 1).clamp(min=0) // size)[None, :, None].expand(block.shape[0], -1, 1)
    has = (lengths > 0)[None, :, None].expand_as(newest)
    block = block.scatter(-1, newest, torch.where(has, float("inf"), block.gather(-1, newest)))
    kept = best(block, min(blocks, block.shape[-1]), block > float("-inf"))
    return kept.repeat_interleave(size, -1)[..., :n]


class Attention(nn.Module):
    """One layer's; draft stages use its projections with keys of their own (draft.py)."""

    def __init__(self, c, switches, layer):
        super().__init__()
        self.c, self.layer, self.switches = c, layer, switches
        width = c.heads * c.head_dim
        self.wq_a, self.q_norm = Weight(switches, "fp8", c.q_lora, c.dim), Norm(c.q_lora, c.rms_eps)
        self.wq_b = Weight(switches, "fp8", width, c.q_lora)
        self.wkv, self.kv_norm = Weight(switches, "fp8", c.head_dim, c.dim), Norm(c.head_dim, c.rms_eps)
        self.wo_a = Weight(switches, "fp8", c.o_groups * c.o_lora, width // c.o_groups)
        self.wo_b = Weight(switches, "fp8", c.dim, c.o_groups * c.o_lora)
        self.attn_sink = nn.Parameter(torch.zeros(c.heads))
        self.ratio = c.ratios[layer]
        self.rope = Rope(c, self.ratio > 0)
        owns_kv, owns_index = layer in c.kv_source, layer in c.index_source
        self.compressor = Sources(c, switches, self.ratio) if owns_kv else None
        self.indexer = Index(c, switches) if owns_index else None

    def query(self, x, at):
        """(latent [.., q_lora], q [.., heads, head_dim] roped)"""
        latent = self.q_norm(self.wq_a(x))
        return latent, self.rope(self.wq_b(latent).unflatten(-1, (self.c.heads, -1)), at[..., None])

    def key(self, x, at):
        kv = self.rope(self.kv_norm(self.wkv(x)), at)
        return rounding.fp8(kv) if self.switches.keys else kv

    def mix(self, q, keys, allowed):
        """q [B, n, h, d], keys [B, s, d], allowed [B or 1, n, s] -> values [B, n, h, d] and probabilities [B, h, n, s]."""
        z = torch.einsum("bnhd,bsd->bhns", q, keys.to(q.dtype)).float() * self.c.head_dim**-0.5
        z = z.masked_fill(~allowed[:, None], float("-inf"))
        sink = self.attn_sink[None, :, None, None].expand(*z.shape[:-1], 1)
        p = torch.cat([z, sink], -1).softmax(-1)[..., :-1]
        return torch.einsum("bhns,bsd->bnhd", p.to(q.dtype), keys.to(q.dtype)), p

    def project(self, o, at):
        """Inverse rope, then the grouped output projection; o [.., heads, head_dim]."""
        c = self.c
        o = self.rope(o, at[..., None], inverse=True).flatten(-2).unflatten(-1, (c.o_groups, -1))
        a = self.wo_a.value().unflatten(0, (c.o_groups, c.o_lora))
        return self.wo_b(torch.einsum("...gd,grd->...gr", o, a.to(o.dtype)).flatten(-2))

    def forward(self, x, first, state, shared):
        """x [B, n, D] normed. `state` (model.State) keeps keys between calls; `shared` carries what layers publish in a pass."""
        c, n = self.c, x.shape[1]
        at = first + torch.arange(n, device=x.device)
        latent, q = self.query(x, at)
        keys = state.append(("window", self.layer), self.key(x, at), c.window - 1)
        key_at = first + n - keys.shape[1] + torch.arange(keys.shape[1], device=x.device)
        allowed = ((key_at[None] <= at[:, None]) & (key_at[None] > at[:, None] - c.window))[None]
        if self.ratio:
            self.publish(x, latent, at, first, state, shared)
            keys = torch.cat([keys, state.kept["stream", c.kv_owner(self.layer)]], 1)
            allowed = torch.cat([allowed.expand(shared.list.shape[0], -1, -1), shared.list], -1)
        o, p = self.mix(q, keys, allowed)
        if self.indexer is not None and shared.train_index:
            shared.index_loss.append(index_loss(shared.scores, p[..., -shared.list.shape[-1] :].detach(), shared.list))
        return self.project(o, at)

    def publish(self, x, latent, at, first, state, shared):
        """Extends the layer's own stream if it owns one; sets shared.list [B or 1, n, groups], the groups that may be read."""
        c, owner = self.c, self.c.kv_owner(self.layer)
        if self.compressor is not None:
            held = state.kept.get(("open", self.layer))
            stream, keys, held = self.compressor(x, held, first, self.rope, self.switches)
            state.kept["open", self.layer] = held
            state.append(("stream", self.layer), stream)
            state.append(("index", self.layer), keys)
        if self.indexer is None:
            return
        lengths = (at + 1) // self.ratio
        keys = state.kept["index", owner]
        visible = (torch.arange(keys.shape[1], device=x.device)[None] < lengths[:, None])[None]
        if shared.dense and not shared.train_index:
            shared.list = visible
            return
        shared.scores = scores = self.indexer(x, latent, keys, at, self.rope, self.switches)
        allowed = visible.expand_as(scores)
        if shared.dense:
            shared.list = allowed
            return
        if self.layer == c.candidate_source:
            shared.pool = pool_mask(scores.detach(), allowed, lengths, c.candidate_blocks, c.candidate_block_size)
        elif c.candidate_source >= 0 and self.layer > c.candidate_source:
            allowed = allowed & shared.pool
        shared.list = best(scores.detach(), min(c.index_topk, scores.shape[-1]), allowed)


def index_loss(scores, p, allowed):
    """Cross-entropy between index scores and the heads' mean attention over the groups that may be read, both normalised over
    exactly those groups: what a pool or a selection hides is in neither. Mean over rows that may read two groups or more."""
    target = p.mean(1) * allowed
    target = target / target.sum(-1, keepdim=True).clamp(min=1e-9)
    logs = scores.masked_fill(~allowed, float("-inf")).log_softmax(-1)
    rows = (allowed.sum(-1) > 1).float()
    loss = -(target * logs.masked_fill(~allowed, 0)).sum(-1)
    return (torch.where(rows > 0, loss, 0)).sum() / rows.sum().clamp(min=1)
