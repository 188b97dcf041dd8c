#!/usr/bin/env python3
"""views.bin: tensors of every kind that weights come as, by torch.save itself. Needs torch (2.15 made the file).

    make_views.py views.bin
"""
import collections, sys
import torch

whole = torch.arange(12, dtype=torch.float32).reshape(3, 4)
quarters = torch.arange(6).reshape(2, 3)
torch.save(collections.OrderedDict(
    whole=whole, turned=whole.t(), row=whole[1], column=whole[:, 2],
    half=quarters.half() / 4, bfloat=quarters.bfloat16() / 4, double=torch.arange(3).double() / 3,
    parameter=torch.nn.Parameter(torch.ones(2)), ids=torch.arange(4).reshape(1, 4), scalar=torch.tensor(2.5),
    empty=torch.zeros(0, 3), spread=torch.tensor([7.0]).expand(2, 3),
    cut=torch.arange(24.0).reshape(2, 3, 4)[:, 1:, ::2]), sys.argv[1])
