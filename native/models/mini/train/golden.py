"""Golden numbers of a checkpoint for the native reader's test: what the training code says of it, with the quantisers off, in
fp32 on the CPU. Format of native/model/golden/README.md: for each prompt the ids, the logits of its last rows, then one draft:
(position, token, ids), confidences, logits."""
import struct

import numpy as np
import torch

PROMPTS, LENGTH, ROWS = ("prose", "code", "enumeration"), 96, 2


@torch.no_grad()
def write(path, model, drafter, bundle):
    device, sections = next(model.parameters()).device, []
    model, drafter = model.cpu(), drafter.cpu()
    switches = (model.switches, drafter.switches)
    kept = [s.keys for s in switches]
    for s in switches:
        s.keys = s.weights = False
    for name in PROMPTS:
        ids = bundle.part("heldout", name)[:LENGTH].long().cpu()[None]
        out = model(ids)
        logits = model.logits(out.hidden)[0, -ROWS:]
        token = logits[-1].argmax()
        anchors = torch.tensor([[LENGTH - 1]])
        drafts, conf, draft_logits = drafter.draft(model.embed.weight, model.head, drafter.context(out.taps), anchors, token[None, None])
        sections += [ids[0].int().numpy(), logits.float().numpy()]
        sections += [np.array([LENGTH, int(token), *drafts[0, 0].tolist()], np.int32), conf[0, 0].float().numpy(), draft_logits[0, 0].float().numpy()]
    for s, keys in zip(switches, kept):
        s.keys = keys
    model.to(device), drafter.to(device)
    with open(path, "wb") as file:
        file.write(struct.pack("<4sI", b"RGLD", len(sections)))
        for section in sections:
            file.write(struct.pack("<II", {"int32": 0, "float32": 1}[section.dtype.name], section.size))
            file.write(np.ascontiguousarray(section).tobytes())
