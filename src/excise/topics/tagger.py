"""The network inside the detector: an encoder with low-rank terms, and a head that gives each token one logit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from excise.encoders.lora import inject, load_lora_state, lora_state, merge

if TYPE_CHECKING:
    from excise.encoders.token_encoder import TokenEncoder


class TokenTagger(nn.Module):
    """The encoder with its low-rank terms, and a linear head that gives each token one logit.

    Parameters
    ----------
    encoder
        whose transformer reads the query; it is frozen, and its weights belong to the tagger from now on.
    rank, alpha, last_layers
        the size of the low-rank terms.
    """

    def __init__(self, encoder: TokenEncoder, rank: int, alpha: float, last_layers: int) -> None:
        super().__init__()
        self.encoder = encoder.transformer
        inject(self.encoder, rank, alpha, last_layers)
        self.head = nn.Linear(encoder.width, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits: Tensor = self.head(hidden).squeeze(-1)
        return logits

    def state(self) -> dict[str, Tensor]:
        """The trained weights: the low-rank terms and the head."""
        head = {f"head.{name}": tensor.detach().clone() for name, tensor in self.head.named_parameters()}
        return {**{f"encoder.{name}": tensor for name, tensor in lora_state(self.encoder).items()}, **head}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Put trained weights in."""
        low_rank = {name.removeprefix("encoder."): t for name, t in state.items() if name.startswith("encoder.")}
        load_lora_state(self.encoder, low_rank)
        self.head.load_state_dict({name.removeprefix("head."): state[name] for name in ("head.weight", "head.bias")})

    def fold(self) -> None:
        """Make the low-rank terms part of the encoder's weights: the same logits at the frozen encoder's cost."""
        merge(self.encoder)
