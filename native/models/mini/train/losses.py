"""What the drafter is trained on. Knows no data and no optimiser."""
import torch
import torch.nn.functional as F

FADE = 0.85  # a later draft counts only when the earlier ones were accepted


def draft_loss(drafter, model, out, ids, anchors):
    """out: a pass of the frozen backbone over ids [B, T]; anchors [B, A] with anchors + block + 1 < T.

    Position i of a block is compared with what the target says at t + 1 + i: KL from its distribution, cross-entropy to its
    first choice, and for the confidence whether both first choices agree, counted where all earlier ones did.
    Returns (loss, hits [block]: how often the i-th draft is the target's first choice)."""
    c = model.c
    after = anchors[..., None] + 1 + torch.arange(c.draft_block, device=ids.device)  # t + 1 + i
    batch = torch.arange(len(ids), device=ids.device)[:, None, None]
    previous, hidden = ids[batch, after], out.hidden[batch, after]
    with torch.no_grad():
        target = model.logits(hidden)
        p, first = target.softmax(-1), target.argmax(-1)
    x = drafter.block(model.embed.value(), drafter.context(out.taps), anchors, previous[..., 0])
    logits, conf = drafter.corrected(x, drafter.base(x, model.head), previous)
    q = logits.log_softmax(-1)
    kl = (p * (target.log_softmax(-1) - q)).sum(-1)
    ce = F.nll_loss(q.flatten(0, -2), first.flatten(), reduction="none").unflatten(0, first.shape)
    hit = (logits.argmax(-1) == first).float().detach()
    weight = FADE ** torch.arange(c.draft_block, device=ids.device, dtype=torch.float32)
    reached = F.pad(hit.cumprod(-1)[..., :-1], (1, 0), value=1.0) + 0.1
    bce = F.binary_cross_entropy_with_logits(conf, hit, reduction="none")
    loss = ((kl + 0.5 * ce) * weight).mean() + 0.2 * (bce * reached).sum() / reached.sum()
    return loss, hit.mean((0, 1))
