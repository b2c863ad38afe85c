"""Golden numbers of a checkpoint for the native reader's test: what the training code says of it, with the quantisers off, in
fp32 on the CPU. Format of native/model/golden/README.md: for each prompt the ids, the logits of its last rows, then one draft:
(position, token, ids), confidences, logits."""
import os
import sys

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../model/golden"))
import golden_file  # noqa: E402

PROMPTS, LENGTH, ROWS = ("prose", "code", "enumeration"), 96, 2


@torch.no_grad()
def write(path, model, drafter, bundle):
    """Leaves the quantisers off."""
    device, sections = next(model.parameters()).device, []
    model, drafter = model.cpu(), drafter.cpu()
    for switches in (model.switches, drafter.switches):
        switches.keys = switches.weights = False
    for name in PROMPTS:
        ids = bundle.part("heldout", name)[:LENGTH].long().cpu()[None]
        out = model(ids)
        logits = model.logits(out.hidden)[0, -ROWS:]
        token = logits[-1].argmax()
        anchors = torch.tensor([[LENGTH - 1]])
        drafts, conf, draft_logits = drafter.draft(model.embed.weight, model.head, drafter.context(out.taps), anchors, token[None, None])
        sections += [ids[0].int().numpy(), logits.float().numpy()]
        sections += [np.array([LENGTH, int(token), *drafts[0, 0].tolist()], np.int32), conf[0, 0].float().numpy(), draft_logits[0, 0].float().numpy()]
    model.to(device), drafter.to(device)
    golden_file.write(path, sections)
