# %% title [markdown]
# # How-to: fine-tune a ResNet-18
#
# Freeze a network, give it a new last layer, and train that alone. The idea behind it is in
# [lesson 11](../11-who-owns-the-parameters.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

# %% network [markdown]
# ## The network
#
# ResNet-18, written out, with the names that torchvision gives its parts. There it is
# `torchvision.models.resnet18(weights=ResNet18_Weights.DEFAULT)`, which also has learned weights;
# here they are random. (`pretrained=True` is an older spelling.)


# %% network-run
class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential()
        if stride > 1:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        h = self.bn1(self.conv1(x)).relu()
        return (self.bn2(self.conv2(h)) + self.downsample(x)).relu()


# %% layers-run
class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Block(64, 64, 1), Block(64, 64, 1))
        self.layer2 = nn.Sequential(Block(64, 128, 2), Block(128, 128, 1))
        self.layer3 = nn.Sequential(Block(128, 256, 2), Block(256, 256, 1))
        self.layer4 = nn.Sequential(Block(256, 512, 2), Block(512, 512, 1))
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        h = self.maxpool(self.bn1(self.conv1(x)).relu())
        h = self.layer4(self.layer3(self.layer2(self.layer1(h))))
        return self.fc(h.mean((2, 3)))


# %% count-run claims=["E10"]
torch.manual_seed(0)
model = ResNet18()
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% freeze [markdown]
# ## Freeze it, and replace the last layer
#
# Four lines. The new layer is made after the freezing, and the parameters of a new module require
# grad. The underscore matters: `model.requires_grad = False` sets an attribute that torch never
# looks at. If the network was trained before, clear its old gradients, or `step()` will use them.

# %% freeze-run claims=["D30", "E10", "E11", "E12"]
model.requires_grad = False
print("without the underscore:", sum(not p.requires_grad for p in model.parameters()), "frozen")
model.requires_grad_(False)
model.zero_grad()
model.fc = nn.Linear(512, 100)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
print("require grad:", [name for name, p in model.named_parameters() if p.requires_grad])

# %% step [markdown]
# ## One step
#
# The output requires grad, through `fc`. The graph begins there: all that comes before is not
# recorded.

# %% step-run claims=["E9", "E10", "E12"]
images, labels = torch.randn(4, 3, 64, 64), torch.tensor([3, 14, 15, 92])
before = {name: value.clone() for name, value in model.state_dict().items()}
output = model(images)
print("output.requires_grad:", output.requires_grad)
loss = nn.functional.cross_entropy(output, labels)
loss.backward()
optimizer.step()
changed = [name for name, value in model.state_dict().items() if not value.equal(before[name])]
print(
    "parameters that changed:", [name for name in changed if name in dict(model.named_parameters())]
)

# %% graph-show claims=["E7", "E9"]
gradviz.show(loss, names={"output": output}, model=model)

# %% memory [markdown]
# ## What is saved?
#
# A frozen beginning saves nothing for backward. That is why fine-tuning fits where training does
# not.


# %% memory-run claims=["E7"]
def saved(frozen):
    model.requires_grad_(not frozen)
    model.fc.requires_grad_(True)
    report = gradviz.memory(nn.functional.cross_entropy(model(images), labels), model)
    return report.findings.activations


print(f"all parameters require grad: {saved(frozen=False) / 2**20:6.2f} MiB of activations")
print(f"only fc requires grad:       {saved(frozen=True) / 2**20:6.2f} MiB of activations")

# %% batchnorm [markdown]
# ## What still moves
#
# **Heard in the wild, and half right:** "To keep a model from learning, set `requires_grad` to
# `False`." Its parameters do not learn. But BatchNorm has buffers, too, and in training mode every
# forward moves them, whatever the flags. `eval()` stops that. Call it on the frozen part, after
# each `model.train()`.


# %% batchnorm-run claims=["D30"]
def moved_buffers(mode):
    model.train(mode == "train()")
    before = model.bn1.running_mean.clone()
    model(images)
    return not model.bn1.running_mean.equal(before)


for mode in ("train()", "eval()"):
    print(f"{mode:8} running_mean of bn1 moved: {moved_buffers(mode)}")

# %% optimizer [markdown]
# ## May the optimizer have all parameters?
#
# Yes, as long as the frozen ones have no `.grad`: it skips those. The report says which it will
# change.

# %% optimizer-run claims=["E12"]
model.eval()
model.zero_grad()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss = nn.functional.cross_entropy(model(images), labels)
loss.backward()
gradviz.audit(loss, model, optimizer)
