"""Models with attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.placement.architectures.entry import WIDTH, WORDS, entry, sequence, used


class Rms(nn.Module):
    """Its parameter is used after all else that it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        kept = x
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kept.dtype)


class Attention(nn.Module):
    def __init__(self, causal: bool = True, fused: bool = False) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.drop, self.causal, self.fused = nn.Dropout(0.1), causal, fused

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = (one.view(b, t, 2, c // 2).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            a = q @ k.transpose(-2, -1) / (c // 2) ** 0.5
            if self.causal:
                a = a.masked_fill(~torch.ones(t, t, dtype=torch.bool).tril(), float("-inf"))
            y = functional.dropout(a.softmax(-1), 0.1) @ v
        y = y.transpose(1, 2).reshape(b, t, c)
        out: Tensor = self.drop(self.proj(y))
        return out


def feed_forward() -> nn.Sequential:
    return nn.Sequential(nn.Linear(WIDTH, 16), nn.GELU(), nn.Linear(16, WIDTH), nn.Dropout(0.1))


class PreNorm(nn.Module):
    def __init__(self, norm: Callable[[], nn.Module], fused: bool = False) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = norm(), norm()
        self.attn, self.mlp = Attention(fused=fused), feed_forward()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        y: Tensor = x + self.mlp(self.ln_2(x))
        return y


class PostNorm(PreNorm):
    def forward(self, x: Tensor) -> Tensor:
        x = self.ln_1(x + self.attn(x))
        y: Tensor = self.ln_2(x + self.mlp(x))
        return y


class Parallel(PreNorm):
    def forward(self, x: Tensor) -> Tensor:
        h = self.ln_1(x)
        y: Tensor = x + self.attn(h) + self.mlp(h)
        return y


class Scaled(PreNorm):
    """Each branch is multiplied by a parameter of the block."""

    def __init__(self) -> None:
        super().__init__(lambda: nn.LayerNorm(WIDTH))
        self.gamma = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.gamma * self.attn(self.ln_1(x))
        y: Tensor = x + self.gamma * self.mlp(self.ln_2(x))
        return y


class Language(nn.Module):
    """Words, positions, blocks, words; the weights of the first and last layer are one."""

    def __init__(self, blocks: list[nn.Module], last: nn.Module, tied: bool = True) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(5, WIDTH)
        self.drop, self.h, self.ln_f = nn.Dropout(0.1), nn.ModuleList(blocks), last
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, words: Tensor) -> Tensor:
        x = self.drop(self.wte(words) + self.wpe(torch.arange(words.shape[1])))
        for block in self.h:
            x = block(x)
        y: Tensor = self.head(self.ln_f(x))
        return y


def predicting() -> Callable[[Any], Tensor]:
    words = torch.randint(WORDS, (2, 5))
    return lambda model: functional.cross_entropy(model(words).view(-1, WORDS), words.view(-1))


def norm() -> nn.Module:
    return nn.LayerNorm(WIDTH)


@entry
def gpt() -> Any:
    return Language([PreNorm(norm) for _ in range(4)], norm()), predicting()


@entry
def gpt_rms_fused() -> Any:
    return Language([PreNorm(Rms, True) for _ in range(3)], Rms(), False), predicting()


@entry
def gpt_post_norm() -> Any:
    return Language([PostNorm(norm) for _ in range(3)], nn.Identity()), predicting()


@entry
def gpt_parallel() -> Any:
    return Language([Parallel(norm) for _ in range(4)], norm()), predicting()


@entry
def gpt_scaled() -> Any:
    return Language([Scaled() for _ in range(4)], norm()), predicting()


@entry
def gpt_frozen() -> Any:
    model = Language([PreNorm(norm) for _ in range(4)], norm(), False)
    for block in list(model.h)[:3]:
        block.requires_grad_(False)
    return model, predicting()


@entry
def gpt_autocast() -> Any:
    model, loss = gpt()

    def under(model: Any) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return loss(model)

    return model, under


@entry
def gpt_regularised() -> Any:
    model, loss = gpt()

    def more(model: Any) -> Tensor:
        return loss(model) + 0.1 * sum(p.pow(2).sum() for p in model.parameters())

    return model, more


@entry
def transformer_encoder() -> Any:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, 0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 3), used(sequence())


@entry
def transformer_encoder_norm_first() -> Any:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, 0.1, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), used(sequence())


@entry
def transformer() -> Any:
    return nn.Transformer(WIDTH, 2, 2, 2, 16, batch_first=True), used(sequence(), sequence())


class Patches(nn.Module):
    """As ViT: a class token, positions, blocks in a Sequential."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTH, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, 5, WIDTH))
        self.blocks = nn.Sequential(*(PreNorm(norm) for _ in range(3)))
        self.norm, self.head = norm(), nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        y: Tensor = self.head(self.norm(self.blocks(x))[:, 0])
        return y


@entry
def vit_with_token() -> Any:
    return Patches(), used(torch.randn(2, 3, 8, 8))


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(feed_forward() for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        weight, which = self.gate(flat).softmax(-1)[:, :3].topk(2)
        y = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows, at = (which == i).nonzero(as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, expert(flat[rows]) * weight[rows, at, None])
        return y.view_as(x)


class Mixed(PreNorm):
    def __init__(self) -> None:
        super().__init__(norm)
        self.mlp = Experts()  # type: ignore[assignment]


@entry
def mixture() -> Any:
    return Language([Mixed() for _ in range(3)], norm(), False), predicting()


class Recomputed(Language):
    reentrant = False

    def forward(self, words: Tensor) -> Tensor:
        x = self.drop(self.wte(words) + self.wpe(torch.arange(words.shape[1])))
        for block in self.h:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        y: Tensor = self.head(self.ln_f(x))
        return y


class RecomputedReentrant(Recomputed):
    reentrant = True


@entry
def gpt_checkpointed() -> Any:
    return Recomputed([PreNorm(norm) for _ in range(4)], norm()), predicting()


@entry
def gpt_checkpointed_reentrant() -> Any:
    return RecomputedReentrant([PreNorm(norm) for _ in range(4)], norm()), predicting()


class Wrapped(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any) -> Any:
        return self.module(*inputs)


@entry
def gpt_wrapped() -> Any:
    return Wrapped(gpt()[0]), predicting()


class Adapted(nn.Module):
    """A frozen layer with two thin ones beside it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, 2, bias=False)
        self.b = nn.Linear(2, base.out_features, bias=False)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x) + 0.5 * self.b(self.a(self.drop(x)))
        return y


@entry
def gpt_adapted() -> Any:
    model = Language([PreNorm(norm) for _ in range(4)], norm(), False).requires_grad_(False)
    for block in model.h:
        block.attn.qkv = Adapted(block.attn.qkv)  # type: ignore[union-attr, arg-type]
        block.attn.proj = Adapted(block.attn.proj)  # type: ignore[union-attr, arg-type]
    return model, predicting()


@entry
def called_with_other_weights() -> Any:
    model, _ = gpt()
    weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    words = torch.randint(WORDS, (2, 5))

    def called(model: Any) -> Tensor:
        scores = torch.func.functional_call(model, weights, (words,))
        return functional.cross_entropy(scores.flatten(0, 1), words.flatten())

    return model, called


@entry
def contrastive() -> Any:
    def tower() -> nn.Module:
        return Language([PreNorm(norm) for _ in range(2)], norm(), False)

    model = nn.ModuleDict({"text": tower(), "image": tower()})
    words = torch.randint(WORDS, (4, 5))

    def loss(model: Any) -> Tensor:
        one = functional.normalize(model["text"](words).mean(1), dim=-1)
        other = functional.normalize(model["image"](words).mean(1), dim=-1)
        scores = one @ other.t() * 10
        at = torch.arange(4)
        return (functional.cross_entropy(scores, at) + functional.cross_entropy(scores.t(), at)) / 2

    return model, loss
