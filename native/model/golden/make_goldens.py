#!/usr/bin/env python3
"""Writes the golden numbers that the C++ model is compared with: python3 make_goldens.py PATH/TO/rota-model

Each mini model is synthesised in F32, read back by gguf_file.py, run through oracle.py, and its numbers land in NAME.bin
beside this script. README.md describes the format. Needs numpy; the tests themselves need no Python."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import gguf_file
import golden_file
from oracle import Oracle
from synthetic_rule import check_tensors

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1
PROMPT = 90  # beyond rope_original_len, top-k and the pool of every mini, so that each of them bites
DRAFT_AT = (5, 34, 61)  # before the window is full, at both parities of the open group
QUANTISED = 40  # rows of the run with the caches' rounding on
ROUNDED_CONTEXT = 10  # of these, rows whose draft context is kept
ROUNDED_LINEARS = 8  # rows of the run with activation rounding on too


def config_of(keys, draft_keys):
    def k(name):
        return keys["deepseek41." + name]

    def d(name):
        return draft_keys["dflash." + name]

    engram = len(k("engram.layer_ids"))
    orders = k("engram.max_ngram_size") - 1
    table = lambda name, *shape: np.array(k(name), np.int64).reshape(engram, *shape)
    return {
        "vocab": k("vocab_size"),
        "dim": k("embedding_length"),
        "layers": k("block_count"),
        "heads": k("attention.head_count"),
        "head_dim": k("attention.key_length"),
        "rope_dim": k("rope.dimension_count"),
        "q_lora": k("attention.q_lora_rank"),
        "o_lora": k("attention.output_lora_rank"),
        "o_groups": k("attention.output_group_count"),
        "window": k("attention.sliding_window"),
        "rms_eps": k("attention.layer_norm_rms_epsilon"),
        "ratios": list(k("attention.compress_ratios")),
        "kv_source": k("attention.kv_source_layer_ids"),
        "index_source": k("attention.index_source_layer_ids"),
        "index_heads": k("attention.indexer.head_count"),
        "index_head_dim": k("attention.indexer.key_length"),
        "index_topk": k("attention.indexer.top_k"),
        "candidate_source": k("attention.candidate_source_layer_id"),
        "candidate_blocks": k("attention.candidate_topk_blocks"),
        "candidate_block_size": k("attention.candidate_block_size"),
        "theta": k("rope.freq_base"),
        "compress_theta": k("attention.compress_rope_freq_base"),
        "rope_factor": k("rope.scaling.factor"),
        "rope_original_len": k("rope.scaling.original_context_length"),
        "yarn_beta_fast": k("rope.scaling.yarn_beta_fast"),
        "yarn_beta_slow": k("rope.scaling.yarn_beta_slow"),
        "experts": k("expert_count"),
        "top_k": k("expert_used_count"),
        "route_scale": k("expert_weights_scale"),
        "swiglu_limit": k("swiglu_clamp_exp")[0],
        "hc_mult": k("hyper_connection.count"),
        "hc_sinkhorn_iters": k("hyper_connection.sinkhorn_iterations"),
        "hc_eps": k("hyper_connection.epsilon"),
        "engram_layers": k("engram.layer_ids"),
        "engram_max_ngram": k("engram.max_ngram_size"),
        "engram_pad_id": k("engram.pad_token_id"),
        "token_map": k("engram.token_map"),
        "primes": table("engram.primes", orders, -1),
        "offsets": table("engram.offsets", orders, -1),
        "multipliers": table("engram.multipliers", orders + 1),
        "draft_targets": d("target_layers"),
        "draft_stages": d("block_count"),
        "draft_block": d("block_size"),
        "draft_noise_id": d("mask_token_id"),
        "draft_experts": d("expert_count"),
        "draft_top_k": d("expert_used_count"),
    }


def synthesise(tool, name, folder):
    path = os.path.join(folder, name + ".gguf")
    command = [tool, "synth", "--config", name, "--seed", str(SEED), "--out", path]
    subprocess.run(command + ["--expert-format", "F32", "--dense-format", "F32", "--layout", "a"], check=True)
    keys, target = gguf_file.read(path)
    draft_keys, draft = gguf_file.read(path.replace(".gguf", ".dspark.gguf"))
    check_tensors(target, draft, SEED)
    return config_of(keys, draft_keys), target, draft


def drafts(model, config, prompt, logits, taps):
    out = []
    for t in DRAFT_AT:
        model.contexts = {}
        model.commit_draft_context(taps[:t], 0)
        token = int(logits[t - 1].argmax())
        ids, confidence, draft_logits = model.draft(token, t)
        out += [np.array([t, token] + ids, np.int32), np.array(confidence, np.float32), draft_logits.astype(np.float32)]
    return out


def goldens(config, target, draft):
    """The sections of one file, in order."""
    prompt = np.random.default_rng(7).integers(0, config["vocab"], PROMPT)
    plain = Oracle(config, target, draft, kv_quant=False)
    logits = plain.forward(prompt)
    sections = [prompt.astype(np.int32), logits.astype(np.float32)]
    sections += drafts(plain, config, prompt, logits, plain.taps)
    rounded = Oracle(config, target, draft, kv_quant=True)
    rounded.forward(prompt[:QUANTISED])
    source = config["kv_source"][0]
    sections += [rounded.windows[0], rounded.windows[source], rounded.streams[source], rounded.index_keys[source]]
    rounded.commit_draft_context(rounded.taps[:ROUNDED_CONTEXT], 0)
    sections.append(rounded.contexts[config["draft_stages"] - 1])
    width = config["index_topk"]
    lists = [list(chosen) + [-1] * (width - len(chosen)) for chosen in rounded.last_selection]
    sections.append(np.array(lists, np.int32))
    both = Oracle(config, target, draft, kv_quant=True, act_quant=True)
    sections.append(both.forward(prompt[:ROUNDED_LINEARS]).astype(np.float32))
    return sections


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mini-xs", "mini-xs2"):
            golden_file.write(os.path.join(HERE, name + ".bin"), goldens(*synthesise(sys.argv[1], name, folder)))
            print(name, os.path.getsize(os.path.join(HERE, name + ".bin")), "bytes")


if __name__ == "__main__":
    main()
