"""Models and training loops of other packages, made of a configuration: nothing is downloaded.

The packages are those of the extra ``models``; they are imported where a model is built.
"""

from __future__ import annotations

import logging
import os
import tempfile
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.models.entry import Built, Model, entry, trained

MODELS: Final[list[Model]] = []

WORDS = 32
os.environ["HF_HUB_OFFLINE"] = "1"  # transformers reads it when it is imported


def words(length: int = 6) -> Tensor:
    return torch.randint(3, WORDS, (2, length))


def given(model: Any, **inputs: Any) -> Built:
    """A model of transformers, which computes its loss by itself."""

    def loss() -> Tensor:
        y: Tensor = model(**inputs).loss
        return y

    return trained(model.train(), loss)


# --- language models ------------------------------------------------------------------------


def gpt2_of(layers: int, width: int) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=8,
        n_embd=width,
        n_layer=layers,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    return GPT2LMHeadModel(config)


def gpt2(layers: int, width: int) -> Built:
    ids = words()
    return given(gpt2_of(layers, width), input_ids=ids, labels=ids)


@entry(MODELS, "transformers")
def gpt2_2_layers() -> Built:
    """GPT-2 with two layers, 158 nodes. The weight of the embedding `wte` is also that of
    `lm_head`: one leaf with two users."""
    return gpt2(2, 16)


@entry(MODELS, "transformers")
def gpt2_12_layers() -> Built:
    """The same with twelve layers of equal structure: one box, `×12`. Open it, then `h.0`, and
    you are at attention and MLP of the first layer."""
    return gpt2(12, 16)


@entry(MODELS, "transformers", is_slow=True)
def gpt2_96_layers() -> Built:
    """The same with 96 layers and about 6,700 nodes: the picture is no larger."""
    return gpt2(96, 8)


@entry(MODELS, "transformers")
def llama() -> Built:
    """Layers with RMS norms, which are written out in nodes (`Pow, Mean, Add, …`), and a head
    with a weight of its own."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
    )
    ids = words()
    return given(LlamaForCausalLM(config), input_ids=ids, labels=ids)


@entry(MODELS, "transformers")
def bert() -> Built:
    """Embeddings, three layers, and a head whose `decoder` uses the weight of the word
    embeddings."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=8,
    )
    ids = words()
    return given(BertForMaskedLM(config), input_ids=ids, labels=ids)


@entry(MODELS, "transformers")
def t5() -> Built:
    """An encoder and a decoder. One weight, `shared`, embeds both texts and is the weight of
    `lm_head`; the output of the encoder goes into the decoder."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=WORDS,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        use_cache=False,
    )
    return given(T5ForConditionalGeneration(config), input_ids=words(), labels=words(4))


@entry(MODELS, "transformers")
def mamba() -> Built:
    """A state space model: on a CPU its scan is written out, so each block has many nodes."""
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(
        vocab_size=WORDS, hidden_size=8, state_size=4, num_hidden_layers=2, use_cache=False
    )
    ids = words()
    return given(MambaForCausalLM(config), input_ids=ids, labels=ids)


# --- images and sound -----------------------------------------------------------------------


@entry(MODELS, "transformers")
def vit() -> Built:
    """Patches become a sequence (`embeddings`), then layers as in a language model, then the
    class token is selected."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=8,
        patch_size=4,
        num_labels=3,
    )
    images, labels = torch.randn(2, 3, 8, 8), torch.tensor([0, 2])
    return given(ViTForImageClassification(config), pixel_values=images, labels=labels)


@entry(MODELS, "transformers")
def whisper() -> Built:
    """Sound goes through the encoder, words through the decoder, whose token embedding is the
    weight of `proj_out`."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=WORDS,
        num_mel_bins=4,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_source_positions=8,
        max_target_positions=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    sound = torch.randn(2, 4, 16)
    model = WhisperForConditionalGeneration(config)
    return given(model, input_features=sound, labels=words(4))


@entry(MODELS, "transformers")
def clip() -> Built:
    """Two models of their own, for texts and for images, which meet in the loss only."""
    from transformers import CLIPConfig, CLIPModel

    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = CLIPConfig(
        text_config=sizes
        | {
            "vocab_size": WORDS,
            "max_position_embeddings": 8,
            "bos_token_id": 0,
            "eos_token_id": WORDS - 1,
        },
        vision_config=sizes | {"image_size": 8, "patch_size": 4},
        projection_dim=8,
    )
    images = torch.randn(2, 3, 8, 8)
    return given(CLIPModel(config), input_ids=words(), pixel_values=images, return_loss=True)


# --- training of others ---------------------------------------------------------------------


@entry(MODELS, "transformers", "peft")
def lora() -> Built:
    """The weights of GPT-2 do not require grad and no edge leads to them; each layer has 128
    parameters that do, its adapters. Open `h.0`, then `attn`, to see them beside the frozen
    weight."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["c_attn"], lora_dropout=0.1, fan_in_fan_out=True)
    ids = words()
    return given(get_peft_model(gpt2_of(2, 16), config), input_ids=ids, labels=ids)


@entry(MODELS, "lightning")
def lightning_step() -> Built:
    """The loss of a `LightningModule`. `gradviz.record()` around `Trainer.fit` records the
    whole step, and none of the lines of Lightning."""
    from lightning.pytorch import LightningModule, Trainer

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Classifier(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

        def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int = 0) -> Tensor:
            x, y = batch
            return functional.cross_entropy(self.layers(x), y)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Classifier()
    batch = torch.randn(4, 8), torch.tensor([0, 1, 2, 0])
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*batch), batch_size=4)

    def loss() -> Tensor:
        return model.training_step(batch)

    def step() -> None:
        trainer = Trainer(
            accelerator="cpu",
            max_steps=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(model, batches)

    return Built(model, loss, step)


@entry(MODELS, "transformers", "accelerate")
def trainer_step() -> Built:
    """The loss that a `Trainer` of transformers computes; its step is recorded as Lightning's
    is."""
    from transformers import PrinterCallback, Trainer, TrainingArguments

    model, ids = gpt2_of(2, 16).train(), words()
    rows = [{"input_ids": row, "labels": row} for row in ids]

    def loss() -> Tensor:
        y: Tensor = model(input_ids=ids, labels=ids).loss
        return y

    def step() -> None:
        arguments = TrainingArguments(
            output_dir=tempfile.gettempdir(),
            max_steps=1,
            per_device_train_batch_size=2,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(model, arguments, train_dataset=rows)
        trainer.remove_callback(PrinterCallback)  # it prints times
        trainer.train()

    return Built(model, loss, step)
