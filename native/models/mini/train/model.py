"""The backbone: embedding, layers, head. A pass is `forward(ids, state)` at the state's position, for training, chunks and
decoding alike. The drafter is draft.py's."""
import torch
import torch.nn.functional as F
from torch import nn

import engram
from attention import Attention
from layers import Hyper, Moe, Norm, Switches, Weight, collapse, spread


class State:
    """What crosses passes of a batch of sequences that all stand at `position`. A fresh one begins a sequence."""

    def __init__(self):
        self.position, self.kept = 0, {}

    def append(self, name, new, past=None):
        """Joins `new` [B, n, d] behind what is kept of that name (of it at most the last `past` entries) and returns the whole."""
        old = self.kept.get(name)
        if old is not None:
            old = old if past is None else old[:, max(0, old.shape[1] - past) :]
            new = torch.cat([old, new.to(old.dtype)], 1)
        self.kept[name] = new
        return new


class Shared:
    """What layers publish to later ones within a pass."""

    def __init__(self, dense, train_index):
        self.dense, self.train_index = dense, train_index
        self.list = self.pool = self.scores = None
        self.index_loss = []


class Engram(nn.Module):
    """Rows of a table, looked up by a hash of the last tokens, gated into each copy of the stream."""

    def __init__(self, c, switches, rows):
        super().__init__()
        self.c = c
        self.embed = Weight(switches, "engram", rows, c.engram_head_dim, std=1.0)
        self.wkv = Weight(switches, "fp8", (c.hc_mult + 1) * c.dim, c.engram_columns * c.engram_head_dim)
        self.q_weight = Weight(switches, "bf16", c.hc_mult, c.dim, mean=1.0)
        self.k_weight = Weight(switches, "bf16", c.hc_mult, c.dim, mean=1.0)

    def forward(self, stream, rows):
        """stream [B, n, h, D], rows [B, n, columns]"""
        c = self.c
        kv = self.wkv(F.embedding(rows, self.embed.value()).flatten(-2)).float()
        key, value = kv[..., : c.hc_mult * c.dim].unflatten(-1, (c.hc_mult, c.dim)), kv[..., c.hc_mult * c.dim :]
        scale = torch.rsqrt(stream.square().mean(-1) + c.rms_eps) * torch.rsqrt(key.square().mean(-1) + c.rms_eps) * c.dim**-0.5
        d = (stream * (self.q_weight.value() * self.k_weight.value()) * key).sum(-1) * scale
        gate = torch.sigmoid(torch.copysign(d.abs().clamp(min=1e-6).sqrt(), d))
        return stream + gate[..., None] * value[..., None, :]


class Layer(nn.Module):
    def __init__(self, c, switches, layer, rows=None):
        super().__init__()
        self.engram = Engram(c, switches, rows) if rows else None
        self.hc_attn, self.hc_ffn = Hyper(c), Hyper(c)
        self.attn_norm, self.ffn_norm = Norm(c.dim, c.rms_eps), Norm(c.dim, c.rms_eps)
        self.attn = Attention(c, switches, layer)
        draft = layer >= c.layers
        self.ffn = Moe(c, switches, c.draft_experts if draft else c.experts, c.draft_top_k if draft else c.top_k)

    def run(self, stream, lag, attend):
        """Both sublayers; `lag` [.., h] is how the stream is collapsed, set by the sublayer before. Returns stream and lag."""
        pre, post, comb = self.hc_attn(stream)
        stream = spread(stream, attend(self.attn_norm(collapse(stream, lag))), post, comb)
        lag, post, comb = self.hc_ffn(stream)
        return spread(stream, self.ffn(self.ffn_norm(collapse(stream, pre))), post, comb), lag


def begin(c, embedded):
    """The stream of h equal copies, and the first sublayer's collapse: the first copy alone."""
    stream = embedded.float()[..., None, :].expand(*embedded.shape[:-1], c.hc_mult, c.dim)
    lag = torch.zeros(*embedded.shape[:-1], c.hc_mult, device=embedded.device)
    lag[..., 0] = 1
    return stream, lag


class Out:
    """Of one pass: logits [B, n, vocab] (or the normed rows [B, n, D] before the head), taps [B, n, targets * D], losses of
    the index."""

    def __init__(self, hidden, taps, index_loss):
        self.hidden, self.taps, self.index_loss = hidden, taps, index_loss


class Backbone(nn.Module):
    def __init__(self, c, compressed, tables=None):
        super().__init__()
        self.c, self.switches = c, Switches()
        self.hash = engram.Hash(c, compressed, tables)
        sizes = [int(layer.sum()) for layer in self.hash.primes]
        self.embed = Weight(self.switches, "bf16", c.vocab, c.dim, std=0.12)
        rows = dict(zip(c.engram_layers, sizes))
        self.layers = nn.ModuleList(Layer(c, self.switches, i, rows.get(i)) for i in range(c.layers))
        self.norm = Norm(c.dim, c.rms_eps)
        self.head = Weight(self.switches, "bf16", c.vocab, c.dim)

    def forward(self, ids, state=None, dense=False, train_index=False):
        """ids [B, n] at the state's position (a fresh state without one). dense: every visible group is read, no selection."""
        c, state = self.c, state or State()
        first, shared = state.position, Shared(dense, train_index)
        past = state.kept.get("ids")
        rows = self.hash(ids, past)
        state.append("ids", ids, c.engram_max_ngram - 1)
        stream, lag = begin(c, F.embedding(ids, self.embed.value()))
        taps = []
        for i, layer in enumerate(self.layers):
            if layer.engram is not None:
                stream = layer.engram(stream, rows[:, :, c.engram_layers.index(i)])
            if i in c.draft_targets:
                taps.append(stream.mean(-2))
            stream, lag = layer.run(stream, lag, lambda x, a=layer.attn: a(x, first, state, shared))
        state.position += ids.shape[1]
        return Out(self.norm(collapse(stream, lag)), torch.cat(taps, -1), shared.index_loss)

    def logits(self, hidden):
        """fp32, also under autocast: [.., D] -> [.., vocab]"""
        return self.head(hidden).float()
