"""Parameters whose gradients DistributedDataParallel reduces, where one of its errors is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def replica_in(values: Iterable[Any]) -> DistributedDataParallel | None:
    """The only DistributedDataParallel among variables, and modules among them."""
    found = {id(one): one for value in values for one in _replicas(value)}
    return next(iter(found.values())) if len(found) == 1 else None


def _replicas(value: Any) -> Iterator[DistributedDataParallel]:
    if isinstance(value, nn.Module) and type(value).modules is nn.Module.modules:
        found = (one for one in value.modules() if isinstance(one, DistributedDataParallel))
        yield from (one for one in found if "reducer" in vars(one))  # it is made whole


def reduced_names(replica: DistributedDataParallel) -> tuple[str, ...]:
    """Names of its parameters in the order in which its messages number them (F7.07).

    Empty if the parameters that require grad are not those with which it was made.
    """
    ignored = replica.parameters_to_ignore
    names = tuple(
        name
        for name, parameter in replica.module.named_parameters()
        if parameter.requires_grad and not ("." in name and name in ignored)
    )
    logger: Any = replica.logger
    known = None if logger is None else replica._get_ddp_logging_data()["num_parameter_tensors"]
    return names if known == len(names) else ()
