"""The model's roundings in PyTorch, with straight-through gradients, and the codes that a checkpoint stores.

Rules are those of native/formats/numbers.h: E4M3 and E2M1 to nearest, ties to the even code; scales are powers of two but for
the compressed keys', which are E4M3. Knows no model."""
import torch

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
# Halfway points; a tie goes to the even code, so a point below an odd code belongs to the lower one.
E2M1_MIDDLES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


def pow2_ceil(x):
    """2^ceil(log2 x) of normal x > 0, on the exponent bits."""
    bits = x.float().contiguous().view(torch.int32)
    exponent = ((bits >> 23) & 255) + ((bits & 0x7FFFFF) != 0).int()
    return (exponent << 23).view(torch.float32)


def e4m3(x):
    """Nearest E4M3 value; |x| <= 448 after saturation. The cast rounds to nearest even."""
    return x.clamp(-448, 448).to(torch.float8_e4m3fn).float()


def e2m1_codes(x):
    """Magnitude codes 0 .. 7 of x."""
    magnitude = x.abs().clamp(max=6)
    code = torch.zeros_like(magnitude, dtype=torch.int32)
    for i, middle in enumerate(E2M1_MIDDLES):
        code += (magnitude > middle).int() + ((magnitude == middle).int() if i % 2 == 1 else 0)
    return code


def e2m1(x):
    values = torch.tensor(E2M1, dtype=torch.float32, device=x.device)
    return torch.copysign(values[e2m1_codes(x).long()], x)


def _grouped(x, block, scale_of, onto):
    groups = x.float().unflatten(-1, (x.shape[-1] // block, block))  # of no rows too: an open group closes nothing
    scale = scale_of(groups.abs().amax(-1, keepdim=True))
    rounded = (onto(groups / scale) * scale).reshape(x.shape)
    return rounded.detach().to(x.dtype) + (x - x.detach())  # exactly the rounded value; gradients pass as if nothing was rounded


def fp8(x):
    """Window keys and inputs of quantised linears: E4M3 in blocks of 32."""
    return _grouped(x, 32, lambda amax: pow2_ceil(amax.clamp(min=1e-4) * torch.tensor(1 / 448, dtype=torch.float32)), e4m3)


def fp4_e8m0(x):
    """Index queries and keys: E2M1 in blocks of 32 with a power of two."""
    least = 6 * 2.0**-126
    return _grouped(x, 32, lambda amax: pow2_ceil(amax.clamp(min=least) * torch.tensor(1 / 6, dtype=torch.float32)), e2m1)


def fp4_e4m3(x):
    """Compressed keys: E2M1 in blocks of 16 with an E4M3 scale."""
    return _grouped(x, 16, lambda amax: e4m3(amax.clamp(min=6 * 2.0**-9) / 6), e2m1)


def block32(w):
    """A dense matrix [O, I] as the release stores it: (E4M3 codes as float [O, I], scales [ceil O/32, I/32], powers of two)."""
    rows, cols = w.shape
    padded = torch.nn.functional.pad(w.float(), (0, 0, 0, -rows % 32))
    tiles = padded.reshape(-1, 32, cols // 32, 32)
    scale = pow2_ceil(tiles.abs().amax((1, 3)).clamp(min=2.0**-100) / 448)
    codes = e4m3(tiles / scale[:, None, :, None]).reshape(-1, cols)[:rows]
    return codes, scale


def rows32(w):
    """An Engram table [rows, dim]: E4M3 codes as float, scales [rows, dim/32]."""
    groups = w.float().reshape(w.shape[0], -1, 32)
    scale = pow2_ceil(groups.abs().amax(-1).clamp(min=2.0**-100) / 448)
    return e4m3(groups / scale[..., None]).reshape(w.shape), scale


def fp4_weight(w):
    """An expert's matrix [.., O, I]: (E2M1 values as float, scales [.., O, I/32]). Of the smallest power of two that holds the
    largest weight, and half of it, the one with the smaller squared error."""
    groups = w.float().reshape(*w.shape[:-1], -1, 32)
    full = pow2_ceil(groups.abs().amax(-1, keepdim=True).clamp(min=2.0**-100) / 6)
    def tried(scale):
        values = e2m1(groups / scale)
        return values, ((values * scale - groups) ** 2).sum(-1, keepdim=True)

    (a, a_error), (b, b_error) = tried(full), tried(full / 2)
    better = b_error < a_error
    return torch.where(better, b, a).reshape(w.shape), torch.where(better, full / 2, full)[..., 0]


def through(w, kind):
    """w as it will be read back from a checkpoint of that kind: fp8, fp4, engram, bf16 or f32. Straight-through gradient."""
    with torch.no_grad():
        if kind == "fp8":
            codes, scale = block32(w)
            rounded = codes * scale.repeat_interleave(32, 0)[: w.shape[0]].repeat_interleave(32, 1)
        elif kind == "fp4":
            codes, scale = fp4_weight(w)
            rounded = codes * scale.repeat_interleave(32, -1)
        elif kind == "engram":
            codes, scale = rows32(w)
            rounded = codes * scale.repeat_interleave(32, 1)
        else:
            rounded = w.to(torch.bfloat16).float() if kind == "bf16" else w
    return rounded + (w - w.detach())
