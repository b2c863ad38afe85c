"""Parts that a layer of the target and a draft stage share: norms, rope, hyper-connections, experts. Source of every formula:
the DeepSeek-V4.1 release (inference/model.py), as native/model and its oracle have them."""
import torch
import torch.nn.functional as F
from torch import nn

import rounding


class Switches:
    """What of the release's rounding is on; shared by all parts of a model."""

    def __init__(self):
        self.keys = False  # caches: fp8 windows, fp4 compressed and index keys
        self.weights = False  # weights as a checkpoint holds them


class Weight(nn.Module):
    """A tensor with the kind under which the checkpoint stores it; the last dimension is a row."""

    def __init__(self, switches, kind, *shape, std=None, mean=0.0):
        super().__init__()
        self.kind, self.switches = kind, switches
        std = shape[-1] ** -0.5 if std is None else std
        self.weight = nn.Parameter(torch.randn(*shape) * std + mean)

    def value(self):
        return rounding.through(self.weight, self.kind) if self.switches.weights else self.weight

    def forward(self, x):
        return F.linear(x, self.value())


class Norm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        x = x.float()
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps))


def frequencies(c, compressed):
    base = c.compress_theta if compressed else c.theta
    plain = torch.tensor(base, dtype=torch.float32) ** (-torch.arange(0, c.rope_dim, 2, dtype=torch.float32) / c.rope_dim)
    if not compressed:
        return plain
    from config import yarn_range

    low, high = yarn_range(c)
    ramp = ((torch.arange(c.rope_dim // 2, dtype=torch.float32) - low) / max(high - low, 1e-3)).clamp(0, 1)
    return plain / c.rope_factor * ramp + plain * (1 - ramp)


class Rope(nn.Module):
    """Turns adjacent pairs of the trailing channels; positions in any shape that broadcasts with x's leading dimensions."""

    def __init__(self, c, compressed):
        super().__init__()
        self.register_buffer("frequencies", frequencies(c, compressed), persistent=False)

    def forward(self, x, positions, inverse=False):
        angle = positions[..., None].float() * self.frequencies
        cosine, sine = angle.cos(), -angle.sin() if inverse else angle.sin()
        width = 2 * len(self.frequencies)
        head, tail = x[..., :-width], x[..., -width:].float()
        a, b = tail[..., 0::2], tail[..., 1::2]
        turned = torch.stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2)
        return torch.cat([head, turned.to(x.dtype)], -1)


def sinkhorn_forward(x, iters, eps):
    """Columns, then (rows, columns) iters - 1 times, each y = x / (sum + eps). Returns y and the sums."""
    sums = []
    for step in range(2 * iters - 1):
        total = x.sum(-2 if step % 2 == 0 else -1, keepdim=True) + eps
        x = x / total
        sums.append(total)
    return x, sums


def sinkhorn_backward(grad, y, sums):
    """Multiplies back through the saved sums instead of keeping every step's result."""
    for step in reversed(range(len(sums))):
        along = -2 if step % 2 == 0 else -1
        grad = (grad - (grad * y).sum(along, keepdim=True)) / sums[step]
        y = y * sums[step]
    return grad


class Sinkhorn(torch.autograd.Function):
    """compile_steps() makes one kernel of its many small steps."""

    steps = staticmethod(sinkhorn_forward)
    back = staticmethod(sinkhorn_backward)

    @staticmethod
    def compile_steps():
        Sinkhorn.steps = staticmethod(torch.compile(sinkhorn_forward, dynamic=True))
        Sinkhorn.back = staticmethod(torch.compile(sinkhorn_backward, dynamic=True))

    @staticmethod
    def plain_steps():
        Sinkhorn.steps, Sinkhorn.back = staticmethod(sinkhorn_forward), staticmethod(sinkhorn_backward)

    @staticmethod
    def forward(ctx, x, iters, eps):
        y, sums = Sinkhorn.steps(x, iters, eps)
        ctx.save_for_backward(y, *sums)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, *sums = ctx.saved_tensors
        return Sinkhorn.back(grad, y, sums), None, None


class Hyper(nn.Module):
    """Hyper-connection coefficients of one sublayer. Names of the release: hc_SITE_{fn, base, scale}."""

    def __init__(self, c):
        super().__init__()
        h = c.hc_mult
        self.h, self.iters, self.eps, self.rms_eps = h, c.hc_sinkhorn_iters, c.hc_eps, c.rms_eps
        self.fn = nn.Parameter(torch.randn(h * (2 + h), h * c.dim) * (h * c.dim) ** -0.5)
        # Copies must differ or they stay equal for ever: a random base, and a diagonal that keeps each copy mostly itself.
        base = torch.randn(h * (2 + h)) * 0.5
        base[2 * h :] += 3 * torch.eye(h).flatten()
        self.base = nn.Parameter(base)
        self.scale = nn.Parameter(torch.full((3,), 0.5))

    def forward(self, stream):
        """stream [.., h, D] -> pre [.., h], post [.., h], comb [.., h, h], all fp32."""
        with torch.autocast(stream.device.type, enabled=False):
            h, v = self.h, stream.float().flatten(-2)
            t = F.linear(v, self.fn) * torch.rsqrt(v.square().mean(-1, keepdim=True) + self.rms_eps)
            pre = torch.sigmoid(t[..., :h] * self.scale[0] + self.base[:h]) + self.eps
            post = 2 * torch.sigmoid(t[..., h : 2 * h] * self.scale[1] + self.base[h : 2 * h])
            z = (t[..., 2 * h :] * self.scale[2] + self.base[2 * h :]).unflatten(-1, (h, h))
            return pre, post, Sinkhorn.apply(z.softmax(-1) + self.eps, self.iters, self.eps)


def collapse(stream, weights):
    return (weights[..., None] * stream).sum(-2)


def spread(stream, y, post, comb):
    """post_k y + sum_j comb[j, k] h_j."""
    return post[..., None] * y.float()[..., None, :] + torch.einsum("...jk,...jd->...kd", comb, stream)


class Moe(nn.Module):
    """All experts are computed on all rows, with weight 0 where they were not chosen: two large products instead of many."""

    def __init__(self, c, switches, experts, top_k):
        super().__init__()
        self.experts, self.top_k, self.scale, self.limit = experts, top_k, c.route_scale, c.swiglu_limit
        d, i = c.dim, c.moe_inter
        self.gate = Weight(switches, "bf16", experts, d)
        self.register_buffer("bias", torch.zeros(experts))
        self.w1, self.w3 = (Weight(switches, "fp4", experts, i, d) for _ in range(2))
        self.w2 = Weight(switches, "fp4", experts, d, i)
        self.shared1, self.shared3 = (Weight(switches, "fp8", i, d) for _ in range(2))
        self.shared2 = Weight(switches, "fp8", d, i)
        self.counts = None  # [experts] of the last forward, for balance and for the curve of use

    def route(self, x):
        """x [N, D] -> weights [N, experts], 0 where not chosen. Ties go to the lowest expert."""
        with torch.autocast(x.device.type, enabled=False):
            s = F.softplus(F.linear(x.float(), self.gate.value())).sqrt()
            chosen = torch.sort(-(s.detach() + self.bias), dim=-1, stable=True).indices[:, : self.top_k]
            picked = torch.zeros_like(s).scatter_(1, chosen, 1.0)
            self.counts = picked.sum(0).detach()
            kept = s * picked
            return kept / (kept.sum(-1, keepdim=True) + 1e-20) * self.scale

    def glu(self, a, b):
        return F.silu(a.clamp(max=self.limit)) * b.clamp(-self.limit, self.limit)

    def forward(self, x):
        shape, x = x.shape, x.reshape(-1, x.shape[-1])
        weights = self.route(x)
        hidden = self.glu(F.linear(x, self.w1.value().flatten(0, 1)), F.linear(x, self.w3.value().flatten(0, 1)))
        hidden = hidden.unflatten(-1, (self.experts, -1)) * weights[..., None].to(hidden.dtype)
        y = F.linear(hidden.flatten(1), self.w2.value().transpose(0, 1).flatten(1))
        return (y + self.shared2(self.glu(self.shared1(x), self.shared3(x)))).reshape(shape)

    @torch.no_grad()
    def balance(self, counts, step):
        """Moves the selection bias of each expert towards equal use by a fixed step (auxiliary-loss-free balancing)."""
        self.bias += step * torch.sign(counts.mean() - counts)
