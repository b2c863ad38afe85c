"""DeepSeek-V4.1's text graph and its DSpark drafter in numpy fp32, written for clarity and never for speed.

State is kept for every absolute position, so prefill, chunks, decode and verified rows share one path. The C++ model is
compared with this; the two share no code and no intermediate."""
import numpy as np

F = np.float32
NEGATIVE = -np.inf


# ---- number formats -------------------------------------------------------------------------------------------------
def pow2_ceil(x):
    bits = np.ascontiguousarray(x, F).view(np.int32)
    exponent = ((bits >> 23) & 255) + ((bits & 0x7FFFFF) != 0)
    return (exponent.astype(np.int32) << 23).view(F)


def e4m3_round(x):
    magnitude = np.minimum(np.abs(x).astype(np.float64), 448.0)
    exponent = np.clip(np.floor(np.log2(np.maximum(magnitude, 2.0**-30))), -6, 8)
    step = 2.0 ** (exponent - 3)
    return np.copysign(np.minimum(np.rint(magnitude / step) * step, 448.0), x).astype(F)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F)
E2M1_MIDDLES = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], F)


def e2m1_round(x):
    magnitude = np.abs(np.clip(x, -6, 6))[..., None]
    code = (magnitude > E2M1_MIDDLES).sum(-1)
    code = code + ((magnitude == E2M1_MIDDLES) & (np.arange(7) % 2 == 1)).sum(-1)  # ties go to the even code
    return np.copysign(E2M1[code], x).astype(F)


def rounded(x, block, scale_of, onto):
    groups = x.reshape(*x.shape[:-1], -1, block)
    scale = scale_of(np.abs(groups).max(-1))[..., None]
    return (onto(groups / scale) * scale).reshape(x.shape).astype(F)


def round_fp8(x):
    return rounded(x, 32, lambda amax: pow2_ceil(np.maximum(amax, F(1e-4)) * F(1 / 448)), e4m3_round)


def round_fp4_e8m0(x):
    return rounded(x, 32, lambda amax: pow2_ceil(np.maximum(amax, F(6 * 2.0**-126)) * F(1 / 6)), e2m1_round)


def round_fp4_e4m3(x):
    return rounded(x, 16, lambda amax: e4m3_round(np.maximum(amax, F(6 * 2.0**-9)) / F(6)), e2m1_round)


# ---- primitives -----------------------------------------------------------------------------------------------------
def rms(x, w, eps):
    return (w * (x * (1 / np.sqrt((x * x).mean(-1, keepdims=True) + F(eps))))).astype(F)


def sigmoid(x):
    return (1 / (1 + np.exp(-x))).astype(F)


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20)))).astype(F)


def best(scores, count):
    """Indices of the `count` largest, the lowest index first among equals."""
    return np.argsort(-scores, kind="stable")[:count]


def window_frequencies(dim, base):
    return (F(base) ** (-np.arange(0, dim, 2, dtype=F) / F(dim))).astype(F)


def yarn_frequencies(dim, base, original, factor, beta_fast, beta_slow):
    plain = window_frequencies(dim, base)

    def channel(turns):
        return dim * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))

    low, high = max(np.floor(channel(beta_fast)), 0), min(np.ceil(channel(beta_slow)), dim - 1)
    ramp = np.clip((np.arange(dim // 2, dtype=F) - low) / max(high - low, 1e-3), 0, 1).astype(F)
    return (plain / F(factor) * ramp + plain * (1 - ramp)).astype(F)


def rotate(x, positions, frequencies, inverse=False):
    """Adjacent pairs of the trailing channels; x [rows, .., dim]."""
    width = 2 * len(frequencies)
    angle = np.asarray(positions, F)[:, None] * frequencies[None]
    cosine, sine = np.cos(angle), np.sin(angle) * (-1 if inverse else 1)
    while cosine.ndim < x.ndim:
        cosine, sine = cosine[:, None], sine[:, None]
    out = x.copy()
    a, b = x[..., -width::2], x[..., -width + 1 :: 2]
    out[..., -width::2], out[..., -width + 1 :: 2] = a * cosine - b * sine, a * sine + b * cosine
    return out


def cut(cache, name, keep, new):
    """The first `keep` entries of a per-position cache, then the new ones."""
    cache[name] = np.concatenate([cache[name][:keep], new]) if name in cache else new
    return cache[name]


class Oracle:
    def __init__(self, config, target, draft, kv_quant, act_quant=False):
        self.c, self.target_tensors, self.draft_tensors = config, target, draft
        self.kv_quant, self.act_quant = kv_quant, act_quant
        c = config
        self.window_freq = window_frequencies(c["rope_dim"], c["theta"])
        self.compressed_freq = yarn_frequencies(
            c["rope_dim"], c["compress_theta"], c["rope_original_len"], c["rope_factor"], c["yarn_beta_fast"], c["yarn_beta_slow"]
        )
        self.ids = np.zeros(0, np.int64)  # compressed ids of all positions
        self.windows, self.streams, self.index_keys, self.open, self.contexts = {}, {}, {}, {}, {}
        self.taps, self.last_selection = None, None

    def block(self, layer, draft=False):
        tensors = self.draft_tensors if draft else self.target_tensors
        return lambda suffix: tensors[f"blk.{layer}.{suffix}"]

    def quantised(self, x, weight):
        """A linear whose input the release rounds to fp8; the others are written x @ w.T."""
        return ((round_fp8(x) if self.act_quant else x) @ weight.T).astype(F)

    # ---- hyper-connections
    def mixes(self, h, w, site):
        c, copies = self.c, self.c["hc_mult"]
        flat = h.reshape(len(h), -1)
        t = (flat @ w(f"hc_{site}_fn.weight").T) * (1 / np.sqrt((flat * flat).mean(-1, keepdims=True) + F(c["rms_eps"])))
        scale, base, eps = w(f"hc_{site}_scale.weight").reshape(-1), w(f"hc_{site}_base.weight").reshape(-1), F(c["hc_eps"])
        pre = sigmoid(t[:, :copies] * scale[0] + base[:copies]) + eps
        post = 2 * sigmoid(t[:, copies : 2 * copies] * scale[1] + base[copies : 2 * copies])
        z = (t[:, 2 * copies :] * scale[2] + base[2 * copies :]).reshape(-1, copies, copies)
        z = np.exp(z - z.max(-1, keepdims=True))
        comb = z / z.sum(-1, keepdims=True) + eps
        comb = comb / (comb.sum(-2, keepdims=True) + eps)
        for _ in range(c["hc_sinkhorn_iters"] - 1):
            comb = comb / (comb.sum(-1, keepdims=True) + eps)
            comb = comb / (comb.sum(-2, keepdims=True) + eps)
        return pre.astype(F), post.astype(F), comb.astype(F)

    @staticmethod
    def collapse(h, m):
        return (m[..., None] * h).sum(1).astype(F)

    @staticmethod
    def expand(y, h, post, comb):
        return (post[..., None] * y[:, None] + np.einsum("njk,njd->nkd", comb, h)).astype(F)

    def run_block(self, h, m, w, attention, experts, top_k):
        """One layer or draft stage: two sublayers, each collapsed with its predecessor's coefficients."""
        eps = self.c["rms_eps"]
        attn_pre, post, comb = self.mixes(h, w, "attn")
        h = self.expand(attention(rms(self.collapse(h, m), w("attn_norm.weight"), eps)), h, post, comb)
        ffn_pre, post, comb = self.mixes(h, w, "ffn")
        y = self.mixture(w, rms(self.collapse(h, attn_pre), w("ffn_norm.weight"), eps), experts, top_k)
        return self.expand(y, h, post, comb), ffn_pre

    def start(self, tokens):
        copies = self.c["hc_mult"]
        h = np.repeat(self.target_tensors["token_embd.weight"][np.array(tokens)][:, None], copies, 1).astype(F)
        m = np.zeros((len(tokens), copies), F)
        m[:, 0] = 1
        return h, m

    # ---- attention
    def qkv(self, x, w, positions, frequencies):
        c = self.c
        latent = rms(self.quantised(x, w("attn_q_a.weight")), w("attn_q_a_norm.weight"), c["rms_eps"])
        q = self.quantised(latent, w("attn_q_b.weight")).reshape(len(x), c["heads"], c["head_dim"])
        kv = rms(self.quantised(x, w("attn_kv.weight")), w("attn_kv_a_norm.weight"), c["rms_eps"])
        kv = rotate(kv, positions, frequencies)
        return latent, rotate(q, positions, frequencies), round_fp8(kv) if self.kv_quant else kv

    def attend(self, q, keys, sinks):
        """One row: q [heads, dim], keys = values [n, dim]."""
        z = (q @ keys.T) * F(self.c["head_dim"] ** -0.5)
        largest = np.maximum(z.max(-1), F(-1e30))
        e = np.exp(z - largest[:, None])
        return (e @ keys) / (e.sum(-1) + np.exp(sinks - largest))[:, None]

    def project_out(self, o, w, positions, frequencies):
        c = self.c
        o = rotate(o.astype(F), positions, frequencies, inverse=True).reshape(len(o), c["o_groups"], -1)
        a = w("attn_output_a.weight").reshape(c["o_groups"], c["o_lora"], -1)
        return self.quantised(np.einsum("ngd,grd->ngr", o, a).reshape(len(o), -1), w("attn_output_b.weight"))

    def attention(self, layer, x, first, shared):
        c, w, positions = self.c, self.block(layer), np.arange(first, first + len(x))
        ratio = c["ratios"][layer]
        frequencies = self.compressed_freq if ratio else self.window_freq
        latent, q, kv = self.qkv(x, w, positions, frequencies)
        window = cut(self.windows, layer, first, kv)
        stream = None
        if ratio:
            owner = max(a for a in c["kv_source"] if a <= layer)
            if owner == layer:
                self.compress(layer, x, first)
            stream = self.streams[owner]
            if layer in c["index_source"]:
                shared["list"] = self.select(layer, x, latent, positions, owner, shared)
        o = np.zeros((len(x), c["heads"], c["head_dim"]), F)
        for i, p in enumerate(positions):
            keys = window[max(0, p - c["window"] + 1) : p + 1]
            if ratio:
                keys = np.concatenate([keys, stream[shared["list"][i]]])
            o[i] = self.attend(q[i], keys, w("attn_sinks.weight").reshape(-1))
        return self.project_out(o, w, positions, frequencies)

    def compress(self, layer, x, first):
        c, w, ratio = self.c, self.block(layer), self.c["ratios"][layer]
        start = first // ratio * ratio  # the open group's first token
        kv = x @ w("attn_compressor_kv.weight").T
        if ratio > 1:
            gate = x @ w("attn_compressor_gate.weight").T
            kv = cut(self.open, (layer, "kv"), first, kv)[start:]
            gate = cut(self.open, (layer, "gate"), first, gate)[start:]
            groups = len(kv) // ratio
            kv = kv[: groups * ratio].reshape(groups, ratio, -1)
            gate = gate[: groups * ratio].reshape(groups, ratio, -1)
            e = np.exp(gate - gate.max(1, keepdims=True)) if groups else gate
            kv = (kv * (e / e.sum(1, keepdims=True))).sum(1).astype(F)
        latent = rms(kv, w("attn_compressor_norm.weight"), c["rms_eps"])
        group_positions = (start // ratio + np.arange(len(latent))) * ratio
        key = rms(latent @ w("indexer_compressor_kv.weight").T, w("indexer_compressor_norm.weight"), c["rms_eps"])
        key = rotate(key, group_positions, self.compressed_freq)
        latent = rotate(latent, group_positions, self.compressed_freq)
        if self.kv_quant:
            key, latent = round_fp4_e8m0(key), round_fp4_e4m3(latent)
        cut(self.streams, layer, start // ratio, latent)
        cut(self.index_keys, layer, start // ratio, key)

    def select(self, layer, x, latent, positions, owner, shared):
        c, w, ratio = self.c, self.block(layer), self.c["ratios"][layer]
        heads, dim = c["index_heads"], c["index_head_dim"]
        q = self.quantised(latent, w("indexer.attn_q_b.weight")).reshape(len(x), heads, dim)
        q = rotate(q, positions, self.compressed_freq)
        q = round_fp4_e8m0(q) if self.kv_quant else q
        weights = (x @ w("indexer.proj.weight").T) * F(dim**-0.5 * heads**-0.5)
        keys = self.index_keys[owner][: (positions[-1] + 1) // ratio]
        scores = (np.maximum(np.einsum("nhd,td->nht", q, keys), 0) * weights[..., None]).sum(1)
        visible = (positions + 1) // ratio
        scores = np.where(np.arange(len(keys))[None] >= visible[:, None], NEGATIVE, scores).astype(F)
        if layer == c["candidate_source"]:
            shared["pool"] = [self.pool(scores[i], visible[i]) for i in range(len(x))]
        elif 0 <= c["candidate_source"] < layer:
            scores = np.where(np.array(shared["pool"]), scores, NEGATIVE)
        lists = [np.sort(best(row, min(c["index_topk"], len(row)))) for row in scores]
        return [chosen[chosen < visible[i]] for i, chosen in enumerate(lists)]

    def pool(self, scores, visible):
        size = self.c["candidate_block_size"]
        blocks = -(-len(scores) // size)
        padded = np.full(blocks * size, NEGATIVE, F)
        padded[: len(scores)] = scores
        maxima = padded.reshape(blocks, size).max(-1)
        if visible > 0:
            maxima[(visible - 1) // size] = np.inf  # the newest block is always in
        keep = np.zeros(blocks, bool)
        for b in best(maxima, min(self.c["candidate_blocks"], blocks)):
            keep[b] = maxima[b] > NEGATIVE
        return np.repeat(keep, size)[: len(scores)]

    # ---- experts
    def expert(self, x, gate, up, down, weight):
        limit = F(self.c["swiglu_limit"])
        a, b = np.minimum(self.quantised(x, gate), limit), np.clip(self.quantised(x, up), -limit, limit)
        return self.quantised((weight * (a * sigmoid(a) * b)).astype(F), down)

    def mixture(self, w, x, experts, top_k):
        scores = np.sqrt(softplus(x @ w("ffn_gate_inp.weight").T))
        bias = w("exp_probs_b.bias").reshape(-1)
        y = np.zeros_like(x)
        for i in range(len(x)):
            chosen = best(scores[i] + bias, top_k)
            weights = scores[i, chosen] / (scores[i, chosen].sum() + F(1e-20)) * F(self.c["route_scale"])
            for e, weight in zip(chosen, weights):
                parts = [w(f"ffn_{part}_exps.weight")[e] for part in ("gate", "up", "down")]
                y[i] += self.expert(x[i : i + 1], *parts, weight)[0]
        shared = [w(f"ffn_{part}_shexp.weight") for part in ("gate", "up", "down")]
        return (y + self.expert(x, *shared, F(1))).astype(F)

    # ---- engram
    def engram_rows(self, which, position):
        c = self.c
        pad, ids, blocked = c["token_map"][c["engram_pad_id"]], [], False
        for back in range(c["engram_max_ngram"]):
            blocked = blocked or position < back
            ids.append(pad if blocked else self.ids[position - back])
        products = np.array(ids, np.int64) * c["multipliers"][which]
        rolling, rows = products[0], []
        for order in range(1, c["engram_max_ngram"]):
            rolling = rolling ^ products[order]
            rows.append(rolling % c["primes"][which, order - 1] + c["offsets"][which, order - 1])
        return np.concatenate(rows)

    def engram(self, layer, h, first):
        c, w = self.c, self.block(layer)
        which, copies, dim = c["engram_layers"].index(layer), c["hc_mult"], c["dim"]
        rows = np.stack([self.engram_rows(which, first + i) for i in range(len(h))])
        e = w("engram_embed.weight")[rows].reshape(len(h), -1)
        kv = self.quantised(e, w("engram_wkv.weight"))
        key, value = kv[:, : copies * dim].reshape(-1, copies, dim), kv[:, copies * dim :]
        eps = F(c["rms_eps"])
        norms = 1 / np.sqrt((h * h).mean(-1) + eps) / np.sqrt((key * key).mean(-1) + eps)
        d = (h * (w("engram_q.weight") * w("engram_k.weight")) * key).sum(-1) * norms * F(dim**-0.5)
        gate = sigmoid(np.copysign(np.sqrt(np.maximum(np.abs(d), F(1e-6))), d))
        return (h + gate[..., None] * value[:, None]).astype(F)

    # ---- passes
    def forward(self, tokens):
        """Logits of every row; the tokens stand behind what was seen before."""
        c, first = self.c, len(self.ids)
        self.ids = np.concatenate([self.ids, np.array(c["token_map"])[np.array(tokens)]])
        h, m = self.start(tokens)
        shared, taps = {}, []
        for layer in range(c["layers"]):
            if layer in c["engram_layers"]:
                h = self.engram(layer, h, first)
            if layer in c["draft_targets"]:
                taps.append(h.mean(1))
            attention = lambda x, layer=layer: self.attention(layer, x, first, shared)
            h, m = self.run_block(h, m, self.block(layer), attention, c["experts"], c["top_k"])
        self.taps = np.concatenate(taps, 1) if taps else None
        self.last_selection = shared.get("list")
        x = rms(self.collapse(h, m), self.target_tensors["output_norm.weight"], c["rms_eps"])
        return x @ self.target_tensors["output.weight"].T

    def commit_draft_context(self, taps, first):
        c = self.c
        x = rms(self.quantised(taps, self.draft_tensors["fc.weight"]), self.draft_tensors["enc.output_norm.weight"], c["rms_eps"])
        positions = np.arange(first, first + len(x))
        for stage in range(c["draft_stages"]):
            w = self.block(stage, draft=True)
            kv = rms(self.quantised(x, w("attn_kv.weight")), w("attn_kv_a_norm.weight"), c["rms_eps"])
            kv = rotate(kv, positions, self.window_freq)
            cut(self.contexts, stage, first, round_fp8(kv) if self.kv_quant else kv)

    def draft_attention(self, stage, x, position):
        c, w = self.c, self.block(stage, draft=True)
        positions = np.arange(position, position + len(x))
        _, q, kv = self.qkv(x, w, positions, self.window_freq)
        keys = np.concatenate([self.contexts[stage][max(0, position - c["window"]) : position], kv])
        o = np.stack([self.attend(row, keys, w("attn_sinks.weight").reshape(-1)) for row in q])
        return self.project_out(o, w, positions, self.window_freq)

    def draft(self, token, position):
        """Greedy drafts after `token`, which stands at `position`: ids, confidences before the sigmoid, logits."""
        c, t = self.c, self.draft_tensors
        h, m = self.start([token] + [c["draft_noise_id"]] * (c["draft_block"] - 1))
        for stage in range(c["draft_stages"]):
            attention = lambda x, stage=stage: self.draft_attention(stage, x, position)
            h, m = self.run_block(h, m, self.block(stage, draft=True), attention, c["draft_experts"], c["draft_top_k"])
        x = self.collapse(h, m)
        logits = rms(x, t["output_norm.weight"], c["rms_eps"]) @ self.target_tensors["output.weight"].T
        ids, confidence, previous = [], [], token
        for i in range(c["draft_block"]):
            embedding = t["markov_w1.weight"][previous]
            logits[i] += t["markov_w2.weight"] @ embedding
            confidence.append((np.concatenate([x[i], embedding]) @ t["conf_proj.weight"].reshape(-1)).astype(F))
            previous = int(logits[i].argmax())
            ids.append(previous)
        return ids, confidence, logits
