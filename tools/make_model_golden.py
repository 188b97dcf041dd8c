#!/usr/bin/env python3
"""Write oracle vectors for small random encoders: forward, gradients, training trajectory.

The oracle is Hugging Face transformers on PyTorch, run in float64, one sequence at a time
with no padding and no dropout, so that what is written is what a padding-free engine must
reproduce. Needs: torch, transformers, safetensors, numpy.

    make_model_golden.py tests/golden/models [--only NAME] [--seed N]

Per model, tests/golden/models/NAME/ (or another folder) holds
  config.json, model.safetensors   float32 weights with Hugging Face names
  batch.json                       [{"ids": [...], "type_ids": [...], "label": ...}, ...]
  expected.safetensors             hidden [T, H]   last hidden states, sequences end to end
                                   logits [B, C]
                                   loss [1]        mean over the batch
                                   grad.<param>    d loss / d param, before clipping
                                   grad_norm [1]   L2 norm over all trainable parameters
  trajectory.json                  hyper-parameters, then per optimizer step: lr, loss, grad_norm
  trajectory.safetensors           every parameter after the last step
  (trajectories of sequence tasks only)

Tasks: "classification" and "regression" have a label a sequence. "tokens" has labels [T], -100 where there is none; the loss is
the mean over all labelled tokens of the batch. "mlm" is the same with the masked tokens' ids as labels. "embedding" has pairs,
{"ids", "positive_ids"}: mean over tokens, unit length, in-batch negatives with scale 20 (cross entropy over the cosines of an
anchor with all positives); logits are the [B, B] scores, hidden those of the anchors and then of the positives.
"""
import argparse, json, os
import numpy as np, torch, transformers
from safetensors.numpy import save_file
from transformers.core_model_loading import revert_weight_conversion

torch.set_num_threads(1)

def spec(kind, cls, problem, n_labels, lengths, draw, scale=5.0, **cfg):
    """`draw`: which random numbers it has. `scale`: of the weights."""
    return dict(kind=kind, cls=cls, problem=problem, n_labels=n_labels, lengths=lengths, draw=draw, scale=scale, cfg=cfg)

BERT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
MODELS = {
    "bert-pair-3": spec("bert", "BertForSequenceClassification", "classification", 3,
        [5, 37, 2, 64, 12, 23, 23, 9], draw=0,
        vocab_size=500, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
        max_position_embeddings=96, type_vocab_size=2, **BERT),
    "bert-tokens": spec("bert", "BertForTokenClassification", "tokens", 5,
        [5, 37, 2, 64, 12, 23], draw=100,
        vocab_size=150, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=80, type_vocab_size=2, **BERT),
    "bert-odd-regression": spec("bert", "BertForSequenceClassification", "regression", 1,
        [3, 31, 80, 7, 17], draw=1,
        vocab_size=211, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=50,
        max_position_embeddings=81, type_vocab_size=2, layer_norm_eps=1e-12, **BERT),
    "roberta-binary": spec("roberta", "RobertaForSequenceClassification", "classification", 2,
        [4, 50, 21, 2, 33, 90], draw=2,
        vocab_size=160, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=80,
        max_position_embeddings=100, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, **BERT),
    "roberta-regression": spec("roberta", "RobertaForSequenceClassification", "regression", 1,
        [64, 5, 19, 40], draw=3,
        vocab_size=300, hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=80,
        max_position_embeddings=70, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, **BERT),
    "distilbert-4": spec("distilbert", "DistilBertForSequenceClassification", "classification", 4,
        [8, 3, 55, 29, 29, 14], draw=4,
        vocab_size=150, dim=48, n_layers=2, n_heads=6, hidden_dim=76, max_position_embeddings=64,
        dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0),
    "camembert-binary": spec("camembert", "CamembertForSequenceClassification", "classification", 2,
        [6, 27, 44, 11], draw=5,
        vocab_size=120, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=56,
        max_position_embeddings=64, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, **BERT),
    "electra-cls": spec("electra", "ElectraForSequenceClassification", "classification", 2,
        [5, 37, 2, 64, 12, 23], draw=3,
        vocab_size=150, embedding_size=24, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=80, type_vocab_size=2, **BERT),
    "albert-regression": spec("albert", "AlbertForSequenceClassification", "regression", 1,
        [5, 37, 2, 64, 12], draw=4,
        vocab_size=150, embedding_size=20, hidden_size=48, num_hidden_layers=3, num_hidden_groups=1, num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=80, type_vocab_size=2, hidden_act="gelu_new",
        classifier_dropout_prob=0.0, **BERT),
    "mpnet-cls": spec("mpnet", "MPNetForSequenceClassification", "classification", 3,
        [5, 37, 3, 64, 12, 90], draw=5,
        vocab_size=150, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=100, relative_attention_num_buckets=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, **BERT),
    "deberta-v3-cls": spec("deberta-v2", "DebertaV2ForSequenceClassification", "classification", 2,
        [6, 44, 13, 2, 60, 28], draw=2,
        vocab_size=150, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=96, type_vocab_size=0, relative_attention=True, position_buckets=16, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type=["p2c", "c2p"], layer_norm_eps=1e-7, max_relative_positions=-1,
        position_biased_input=False, pooler_dropout=0.0, pooler_hidden_act="gelu", pooler_hidden_size=48, **BERT),
    "modernbert-cls": spec("modernbert", "ModernBertForSequenceClassification", "classification", 3,
        [4, 50, 21, 2, 33, 90], draw=0, scale=2.0,
        vocab_size=150, hidden_size=48, num_hidden_layers=4, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=128, local_attention=16, global_attn_every_n_layers=3, pad_token_id=0, cls_token_id=1,
        sep_token_id=2, bos_token_id=1, eos_token_id=2, embedding_dropout=0.0, classifier_pooling="cls"),
    "modernbert-tokens": spec("modernbert", "ModernBertForTokenClassification", "tokens", 5,
        [9, 40, 17, 3, 71], draw=1, scale=2.0,
        vocab_size=150, hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=50,
        max_position_embeddings=96, local_attention=12, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1,
        eos_token_id=2),
    "nomic-cls": spec("nomic_bert", "NomicBertForSequenceClassification", "classification", 2,
        [5, 37, 2, 64, 12, 23], draw=6,
        vocab_size=150, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=128, type_vocab_size=2, **BERT),
    "gte-cls": spec("gte", "GteForSequenceClassification", "classification", 2,
        [5, 37, 2, 64, 12, 23], draw=17,
        vocab_size=150, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=128, type_vocab_size=1, pad_token_id=1, **BERT),
    "jina-linear": spec("jina_embeddings_v3", "JinaEmbeddingsV3ForSequenceClassification", "classification", 2,
        [5, 37, 2, 64, 12, 23], draw=9,
        vocab_size=60, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
        max_position_embeddings=128, type_vocab_size=1, pad_token_id=1,
        rope_parameters={"rope_type": "linear", "rope_theta": 20000.0, "factor": 2.5}, **BERT),
    "eurobert-cls": spec("eurobert", "EuroBertForSequenceClassification", "classification", 3,
        [5, 37, 2, 64, 12, 23], draw=8,
        vocab_size=150, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=72,
        max_position_embeddings=128, pad_token_id=3, bos_token_id=1, eos_token_id=2, mask_token_id=4),
}

def make_batch(s, config, gen):
    batch = []
    first = 5
    for n in s["lengths"]:
        ids = torch.randint(first, config.vocab_size, (n,), generator=gen).tolist()
        item = {"ids": ids}
        if (getattr(config, "type_vocab_size", 0) or 0) > 1:
            cut = max(1, n // 2)
            item["type_ids"] = [0] * cut + [1] * (n - cut)
        if s["problem"] in ("tokens", "mlm"):
            top = s["n_labels"] if s["problem"] == "tokens" else config.vocab_size
            labels = torch.randint(0, top, (n,), generator=gen)
            keep = torch.rand(n, generator=gen) < (0.7 if s["problem"] == "tokens" else 0.3)
            keep[n // 2] = True
            item["labels"] = torch.where(keep, labels, torch.tensor(-100)).tolist()
        elif s["problem"] == "embedding":
            item.pop("type_ids", None)
            item["positive_ids"] = torch.randint(first, config.vocab_size, (max(2, n // 2 + 1),), generator=gen).tolist()
        elif s["problem"] == "regression":
            item["label"] = round(torch.randn(1, generator=gen).item(), 4)
        else:
            item["label"] = int(torch.randint(0, s["n_labels"], (1,), generator=gen))
        batch.append(item)
    return batch

def call(model, ids, types=None):
    kw = {"input_ids": torch.tensor([ids])}
    if types is not None:
        kw["token_type_ids"] = torch.tensor([types])
    return model(**kw, attention_mask=torch.ones_like(kw["input_ids"]), output_hidden_states=True)

def forward(model, s, item):
    out = call(model, item["ids"], item.get("type_ids"))
    logits = out.logits[0]
    if s["problem"] in ("tokens", "mlm"):
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(item["labels"]), reduction="sum")
        return out.hidden_states[-1][0], logits, loss
    if s["problem"] == "regression":
        loss = (logits[0] - item["label"]) ** 2
    else:
        loss = torch.nn.functional.cross_entropy(logits[None], torch.tensor([item["label"]]))
    return out.hidden_states[-1][0], logits, loss

def embedding_loss(model, batch):
    hidden = [call(model, item[k]).hidden_states[-1][0] for k in ("ids", "positive_ids") for item in batch]
    unit = torch.stack([torch.nn.functional.normalize(h.mean(0), dim=0) for h in hidden])
    scores = 20 * unit[:len(batch)] @ unit[len(batch):].T
    return torch.cat(hidden), scores, torch.nn.functional.cross_entropy(scores, torch.arange(len(batch)))

def batch_loss(model, s, batch):
    if s["problem"] == "embedding":
        return embedding_loss(model, batch)
    outs = [forward(model, s, item) for item in batch]
    if s["problem"] in ("tokens", "mlm"):
        count = sum(x != -100 for item in batch for x in item["labels"])
        return torch.cat([o[0] for o in outs]), torch.cat([o[1] for o in outs]), sum(o[2] for o in outs) / count
    hidden = torch.cat([o[0] for o in outs])
    logits = torch.stack([o[1] for o in outs])
    return hidden, logits, torch.stack([o[2] for o in outs]).mean()

def no_decay(name):
    n = name.lower()
    return n.endswith(".bias") or "norm" in n

def trajectory(model, s, batch, hp):
    decay = [p for n, p in model.named_parameters() if not no_decay(n)]
    plain = [p for n, p in model.named_parameters() if no_decay(n)]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": hp["weight_decay"]},
                             {"params": plain, "weight_decay": 0.0}],
                            lr=hp["lr"], betas=(hp["beta1"], hp["beta2"]), eps=hp["eps"])
    total, warm = hp["total_steps"], hp["warmup_steps"]
    lam = lambda k: k / max(1, warm) if k < warm else max(0.0, (total - k) / max(1, total - warm))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lam)
    rows = []
    for step in range(total):
        opt.zero_grad()
        used = [batch[i] for i in hp["step_rows"][step]]
        _, _, loss = batch_loss(model, s, used)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), hp["max_grad_norm"])
        rows.append({"step": step + 1, "lr": opt.param_groups[0]["lr"], "loss": loss.item(), "grad_norm": norm.item()})
        opt.step(); sched.step()
    return rows

def f32(t):
    return np.ascontiguousarray(t.detach().to(torch.float32).numpy())

def in_files(model, tensors):
    """Tensors by the names and in the shapes that files have: some families have others in memory."""
    return revert_weight_conversion(model, {n: t.detach() for n, t in tensors.items()})

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out"); ap.add_argument("--only"); ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--specs", help="JSON file with further model specs, same keys as MODELS' entries")
    a = ap.parse_args()
    models = dict(MODELS)
    if a.specs:
        models = json.load(open(a.specs))
    for name, s in models.items():
        if a.only and a.only != name:
            continue
        gen = torch.Generator().manual_seed(a.seed * 1000 + s["draw"])
        torch.manual_seed(a.seed * 1000 + s["draw"])
        config = transformers.AutoConfig.for_model(s["kind"], **({"num_labels": s["n_labels"]} if s["n_labels"] else {}), **s["cfg"])
        config._attn_implementation = "eager"
        model = getattr(transformers, s["cls"])(config)
        with torch.no_grad():                       # HF's initial 0.02 is too flat to tell errors apart
            for n, p in model.named_parameters():
                if "norm" in n.lower():
                    p.add_(0.2 * torch.randn(p.shape, generator=gen))
                elif p.dim() == 1:
                    p.add_(0.1 * torch.randn(p.shape, generator=gen))
                else:
                    p.mul_(s.get("scale", 5.0))   # 5 unless a family's residual stream then grows too much
        model.eval()
        d = os.path.join(a.out, name); os.makedirs(d, exist_ok=True)
        model.save_pretrained(d)
        model = model.double()
        batch = make_batch(s, config, gen)
        json.dump(batch, open(os.path.join(d, "batch.json"), "w"))
        hidden, logits, loss = batch_loss(model, s, batch)
        loss.backward()
        exp = {"hidden": f32(hidden), "logits": f32(logits), "loss": f32(loss[None])}
        sq = 0.0
        for n, p in model.named_parameters():
            if p.grad is not None:
                sq += float((p.grad ** 2).sum())
        grads = in_files(model, {n: p.grad for n, p in model.named_parameters() if p.grad is not None})
        exp |= {"grad." + n: f32(t) for n, t in grads.items()}
        exp["grad_norm"] = np.array([sq ** 0.5], np.float32)
        save_file(exp, os.path.join(d, "expected.safetensors"))
        if s["problem"] in ("tokens", "mlm", "embedding"):
            print(f"{name}: tokens {sum(s['lengths'])} loss {loss.item():.6f} |g| {sq**.5:.4f}")
            continue
        # the training run: all rows but one, another one left out at each step
        model.zero_grad()
        hp = dict(lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, max_grad_norm=1.0,
                  total_steps=12, warmup_steps=3, schedule="linear",
                  step_rows=[[(k + j) % len(batch) for j in range(len(batch) - 1)] for k in range(12)],
                  loss="mean over the step's rows",
                  no_decay="biases and layer-norm parameters")
        rows = trajectory(model, s, batch, hp)
        json.dump({"hyperparameters": hp, "steps": rows}, open(os.path.join(d, "trajectory.json"), "w"))
        end = in_files(model, dict(model.named_parameters()))
        save_file({n: f32(t) for n, t in end.items()}, os.path.join(d, "trajectory.safetensors"))
        for extra in ("generation_config.json",):
            p = os.path.join(d, extra)
            if os.path.exists(p): os.remove(p)
        print(f"{name}: tokens {sum(s['lengths'])} loss {loss.item():.6f} |g| {sq**.5:.4f} "
              f"steps {rows[0]['loss']:.4f} -> {rows[-1]['loss']:.4f}")

if __name__ == "__main__":
    main()
