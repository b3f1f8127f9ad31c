# %% title [markdown]
# # 5. Gradients add up: zero_grad, step, and the order of three lines
#
# Nearly every training loop has the lines `zero_grad()`, `backward()` and `step()`. You will leave
# one out, swap two of them, and know beforehand what comes of it.
#
# **After it you can**
#
# - say what is in `.grad` after any row of backwards,
# - put the three lines into an order that learns, and see why another order does not,
# - add gradients up on purpose, and get what one big batch would give.
#
# **You need** lessons [3](03-who-gets-a-gradient.ipynb) and
# [4](04-twice-through-the-same-graph.ipynb). About 20 minutes.

# %% setup-run
import weakref

import fashion
import torch
from lesson_tools import choose, tick
from torch import nn

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 2 to 4


# %% recall-fan-out tags=["hide-input"]
# question
def grad_of_two_uses():
    v = torch.ones(1, requires_grad=True)
    (3 * v + 4 * v).backward()
    return f"{v.grad.item():g}"


choose(
    "`out = 3 * v + 4 * v`, then `out.backward()`. What is `v.grad`?",
    {
        "3": "That is what the first use sends. The second use sends a gradient too.",
        "4": "The second use does not replace the first one.",
        "7": "Each use sends a gradient, and the one AccumulateGrad of v adds them up.",
    },
    right=grad_of_two_uses(),
)


# %% recall-leaf tags=["hide-input"]
# question
def who_has_a_grad():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    out = (x * w).sum()
    out.backward()
    return [name for name, t in {"x": x, "w": w}.items() if t.grad is not None]


tick(
    "`w` requires grad, `x` does not. Which of the two have a `.grad` after backward?",
    {
        "x": "No AccumulateGrad, so nobody writes it.",
        "w": "It is a leaf that requires grad: its AccumulateGrad writes it.",
    },
    right=who_has_a_grad(),
)


# %% recall-retain tags=["hide-input"]
# question
def which_call_needs_it():
    for first, second in ((False, False), (False, True), (True, False)):
        w = torch.ones(1, requires_grad=True)
        loss = w * w
        try:
            loss.backward(retain_graph=first)
            loss.backward(retain_graph=second)
        except RuntimeError:
            continue
        return "the first" if first else "the second" if second else "neither"
    return "both"


choose(
    "`loss = w * w`, and backward runs twice. Which call needs `retain_graph=True`?",
    {
        "neither": "MulBackward0 saved w, and the first backward frees it.",
        "the first": "The first call would free what the second one uses.",
        "the second": "Then it is too late: the first call has freed it.",
        "both": "After the second call nobody needs the saved tensors any more.",
    },
    right=which_call_needs_it(),
)

# %% sandal [markdown]
# ## One sandal, ten times
#
# A network is to learn what kind of clothing a picture shows. This one was drawn for this lesson,
# in the size of the data set FashionMNIST, 28 × 28. It is a sandal: class 5 of 10.

# %% sandal-show
sandal = fashion.drawn("sandal")
print(fashion.as_text(sandal), tuple(sandal.shape))


# %% sandal-ask [markdown]
# The network sees the same picture ten times. After each backward we write down the gradient of six
# numbers in its middle. There are two switches; find the two lines in the loop that they switch
# off. (All of this runs on the CPU, so that you get the same digits as everybody.)


# %% sandal-program-network
def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


# %% sandal-program
def ten_passes(image, label, zero_grad=True, step=True):
    model, rows = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    for _ in range(10):
        scores = model(fashion.as_input(image))
        loss = nn.functional.cross_entropy(scores, torch.tensor([label]))
        if zero_grad:
            optimizer.zero_grad()
        loss.backward()
        rows.append(model[3].bias.grad[:6].tolist())
        if step:
            optimizer.step()
    return rows


def print_rows(rows):
    for number, row in enumerate(rows):
        print(f"pass {number}:", *(f"{value:7.4f}" for value in row))


# %% sandal-predict tags=["hide-input"]
# question
def tenth_compared_with_first():
    rows = ten_passes(sandal, 5, zero_grad=False)
    times = rows[9][3] / rows[0][3]
    if times < 2:
        return "0.0180 again"
    return "ten times 0.0180" if abs(times - 10) < 0.01 else "something near ten times 0.0180"


choose(
    "Without `zero_grad`, the fourth number of pass 0 is 0.0180. What is it in pass 9?",
    {
        "0.0180 again": "That would be so if each backward replaced the gradient. It adds to it.",
        "ten times 0.0180": "Ten gradients are added. But step() moves the weights in between.",
        "something near ten times 0.0180": "Ten gradients, each for slightly other weights.",
    },
    right=tenth_compared_with_first(),
)

# %% sandal-run tags=["hide-output"] claims=["C49", "C53"]
print("Torch's answer:")
rows = ten_passes(sandal, 5, zero_grad=False)
print_rows(rows)
print(f"pass 9 is {rows[9][3] / rows[0][3]:.2f} times pass 0, in the fourth column")

# %% sandal-explain [markdown]
# Each pass makes a new graph, and the old one goes. But the parameters stay, and `.grad` belongs to
# the parameter. It grows line by line: each backward *adds*.
#
# With `zero_grad()` before each backward you see one gradient at a time, and how slowly it
# changes while the network learns:

# %% sandal-zero claims=["C50", "C52"]
print_rows(ten_passes(sandal, 5, zero_grad=True))

# %% sandal-real [markdown]
# Do you have FashionMNIST? Put its files into `notebooks/data/FashionMNIST/raw`, where torchvision
# puts them too. Then this cell shows both tables for a real sandal, picture 1012: its last column
# goes from 0.0447 to 0.4461, not to 0.4470. Nothing is downloaded.

# %% sandal-real-run
fashion.RealSandal(ten_passes)

# %% twice [markdown]
# ## Watch it add
#
# Now the same with a single number, so that every step can be seen.


# %% twice-predict tags=["hide-input"]
# question
def two_passes():
    w = torch.tensor(1.0, requires_grad=True)
    for _ in range(2):
        loss = 2 * w
        loss.backward()
    return f"{w.grad:g}"


choose(
    "`w` is 1. Twice: `loss = 2 * w`, `loss.backward()`. What is `w.grad`?",
    {
        "2": "That is the gradient of one pass.",
        "4": "The second pass adds its 2 to the 2 that is there.",
        "8": "The loss of the second pass knows nothing of the first one.",
    },
    right=two_passes(),
)

# %% twice-show tags=["hide-output"] claims=["C48"]
# %%gradviz --step 3
w = torch.tensor(1.0, device=device, requires_grad=True)
loss = 2 * w
loss.backward()
loss = 2 * w
loss.backward()
print("Torch's answer:")

# %% twice-watch [markdown]
# **Watch.** Each time `loss = 2 * w` runs it makes a `MulBackward0`; the second time, the old one
# dies. The `AccumulateGrad` of `w` stays. In the first backward it finds `None`, and puts 2 there.
# In the second it finds 2, and adds.
#
# **In a sentence:** graphs come and go; `.grad` stays with the leaf, and every backward adds to
# it.
#
# Does it add exactly? The layer of lesson 2, with its random numbers:


# %% seed-run claims=["C45", "C46", "C47", "C48"]
def bias_grad(times):
    torch.manual_seed(1)
    x, y = torch.ones(5, device=device), torch.zeros(3, device=device)
    w = torch.randn(5, 3).to(device).requires_grad_()
    b = torch.randn(3).to(device).requires_grad_()
    loss = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
    for _ in range(times):
        loss.backward(retain_graph=True)
    return b.grad


once, twice = bias_grad(1), bias_grad(2)
print("once:     ", *(f"{v:.4f}" for v in once.tolist()))
print("twice:    ", *(f"{v:.4f}" for v in twice.tolist()))
print("once * 2: ", *(f"{v:.4f}" for v in (once * 2).tolist()))
print("bit for bit the same:", torch.equal(twice, once * 2))

# %% seed-explain [markdown]
# To compare two runs we needed the same random numbers. **Heard in the wild, and half right:**
# "with `manual_seed`, the same code gives the same result." The same *calls in the same order* do,
# on one kind of device and one version of torch. Sixteen numbers at once are not twice eight:


# %% seed-order claims=["C57"]
def numbers(*sizes):
    torch.manual_seed(1)
    return torch.cat([torch.randn(size) for size in sizes])


print("16 and 16:   ", torch.equal(numbers(16), numbers(16)))
print("16 and 8 + 8:", torch.equal(numbers(16), numbers(8, 8)))

# %% zero [markdown]
# ## Take the gradient away
#
# `optimizer.zero_grad()` makes an end of the adding.


# %% zero-predict tags=["hide-input"]
# question
def grad_after_zero_grad():
    q = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([q], lr=0.1)
    (2 * q).sum().backward()
    optimizer.zero_grad()
    return str(q.grad if q.grad is None else q.grad.item())


choose(
    "`q.grad` is 2. What is it after `optimizer.zero_grad()`?",
    {
        "2.0": "The gradients that the optimizer knows are taken away.",
        "0.0": "That was so up to torch 1.13, and is still so with set_to_none=False.",
        "None": "Since torch 2.0 the gradient is not set to zero: it is dropped.",
    },
    right=grad_after_zero_grad(),
)

# %% zero-show tags=["hide-output"] claims=["C56", "D52"]
# %%gradviz --step 6 --stops 6,8,12,14,18
q = nn.Parameter(torch.ones(1, device=device))
optimizer = torch.optim.SGD([q], lr=0.1)
(2 * q).sum().backward()
optimizer.zero_grad()
(2 * q).sum().backward()
optimizer.zero_grad(set_to_none=False)
(2 * q).sum().backward()
print("Torch's answer:")

# %% zero-watch [markdown]
# **Watch** the gradient of `q`. The player opens where the first one has arrived, and the places
# to look at are marked on its time line. Line 5 takes the gradient away: `None`. Line 7 leaves it
# there and fills it with 0. After both, the next backward ends with 2, in two different ways: the
# first finds `None` and puts 2 there, the second adds 2 to 0.
#
# **Heard in the wild, and out of date:** "`zero_grad()` sets *all* gradients to 0." To None, and
# only those of the parameters this optimizer holds. And "`zero_grad(set_to_none=True)` is faster
# than `zero_grad()`": by now these are the same call.

# %% zero-run claims=["A28", "A29", "C56", "D52"]
q, other = (nn.Parameter(torch.ones(6, device=device)) for _ in range(2))
optimizer = torch.optim.SGD([q], lr=0.1)
for how in ({}, {"set_to_none": True}, {"set_to_none": False}):
    q.grad = other.grad = None
    (q * other).sum().backward()
    gradient, memory = weakref.ref(q.grad), q.grad.data_ptr()
    optimizer.zero_grad(**how)
    print(f"zero_grad({', '.join(f'{k}={v}' for k, v in how.items())})")
    print("  q.grad:", None if q.grad is None else q.grad.tolist())
    print("  the gradient of before is gone:", gradient() is None)
    if q.grad is not None:
        print("  same memory:", q.grad.data_ptr() == memory, "  times written:", q.grad._version)
    print("  gradient of the parameter it does not hold:", other.grad[0].item())

# %% zero-explain [markdown]
# Zeros are written into the memory that is there, and the next backward writes again. `None` gives
# the memory back and costs no writing. (Whether you can measure the difference depends on the
# machine. On a GPU the memory goes back to torch, not to the system.)
#
# One old habit breaks: code that looks into `.grad` after `zero_grad()`.

# %% zero-look claims=["C56"]
optimizer.zero_grad()
try:
    print(q.grad[0:6])
except TypeError as error:
    print(type(error).__name__, "since q.grad is", q.grad)

# %% owner [markdown]
# ## Whose tensor is it?
#
# `.grad` is a tensor like any other, and you may keep it, or put your own there. **Predict.** Here
# somebody keeps the first gradient to compare it with the second one.


# %% owner-predict tags=["hide-input"]
# question
def kept_gradient():
    w = torch.tensor(1.0, requires_grad=True)
    (2 * w).backward()
    first = w.grad
    (2 * w).backward()
    return f"{first:g}"


choose(
    "`first = w.grad` is 2. Then a second backward runs. What is `first`?",
    {
        "2": "It would be, after first = w.grad.clone().",
        "4": "first and w.grad are one tensor, and backward adds to it in place.",
    },
    right=kept_gradient(),
)

# %% owner-run tags=["hide-output"] claims=["X22", "X23"]
print("Torch's answer:")
w = torch.tensor(1.0, device=device, requires_grad=True)
(2 * w).backward()
first, copy = w.grad, w.grad.clone()
(2 * w).backward()
print("kept:", first.item(), "  a clone:", copy.item(), "  same tensor:", first is w.grad)
w.grad = None
(2 * w).backward()
print("after None a new one is made: kept", first.item(), "  w.grad", w.grad.item())

mine = torch.tensor(100.0, device=device)
w.grad = mine
(2 * w).backward()
print("it adds to what you put there:", mine.item())
try:
    w.grad = torch.zeros(3, device=device)
except RuntimeError as error:
    print("of another shape:", type(error).__name__)

# %% order [markdown]
# ## Try the orders
#
# `q` is 1, its gradient is 2 whatever `q` is, and the learning rate is 0.1. So a pass that learns
# takes 0.2 off.


# %% order-program
def train(order, passes=3):
    q = nn.Parameter(torch.ones(1, device=device))
    optimizer = torch.optim.SGD([q], lr=0.1)
    losses, values = [], []
    lines = {
        "forward": lambda: losses.append((2 * q).sum()),
        "backward": lambda: losses[-1].backward(),
        "zero_grad": optimizer.zero_grad,
        "step": optimizer.step,
    }
    for _ in range(passes):
        for line in order.split():
            lines[line]()
        values.append(round(q.item(), 4))
    return values


# %% order-program-names
ORDERS = {
    "zero_grad first": "zero_grad forward backward step",
    "zero_grad after forward": "forward zero_grad backward step",
    "zero_grad after backward": "forward backward zero_grad step",
    "zero_grad last": "forward backward step zero_grad",
    "no zero_grad": "forward backward step",
}

# %% order-predict tags=["hide-input"]
# question
tick(
    "With which orders does `q` go 0.8, 0.6, 0.4?",
    {
        "zero_grad first": "Each step sees the gradient of its own pass.",
        "zero_grad after forward": "Forward neither reads nor writes .grad, so it may come before.",
        "zero_grad after backward": "When step comes, the gradient is gone. q stays 1.",
        "zero_grad last": "The same row, entered at another place.",
        "no zero_grad": "step sees 2, then 4, then 6: 0.8, 0.4, -0.2.",
    },
    right=[name for name, order in ORDERS.items() if train(order) == [0.8, 0.6, 0.4]],
)

# %% order-run tags=["hide-output"] claims=["D53"]
print("Torch's answer:")
for name, order in ORDERS.items():
    print(f"{name:26}{train(order)}")

# %% order-show claims=["D53"]
# %%gradviz --step 5
q = nn.Parameter(torch.ones(1, device=device))
optimizer = torch.optim.SGD([q], lr=0.1)
for _ in range(2):
    loss = (2 * q).sum()
    loss.backward()
    optimizer.step()

# %% order-watch [markdown]
# **Watch** `q` and its gradient, one below the other: this is the last order, without `zero_grad`.
# `step()` reads the gradient and writes `q`, in place: the version of `q` goes up by one. The
# gradient stays as it is. So the second step sees 4, and takes off 0.4.
#
# **In a sentence:** `zero_grad` may stand anywhere except between `backward` and `step`.
#
# **Heard in the wild, and half right:** "between the two the gradients are 0, so nothing is
# updated." With `None` an optimizer passes the parameter by. With real zeros it depends on the
# optimizer:


# %% order-zero claims=["D54"]
def moved_by_second_step(optimizer_class, set_to_none, **options):
    q = nn.Parameter(torch.ones(1, device=device))
    optimizer = optimizer_class([q], lr=0.1, **options)
    (2 * q).sum().backward()
    optimizer.step()
    before = q.item()
    optimizer.zero_grad(set_to_none=set_to_none)
    optimizer.step()
    return f"{q.item() - before:+.3f}"


SGD, Adam = torch.optim.SGD, torch.optim.Adam
kinds = [(SGD, {}), (SGD, {"momentum": 0.9}), (SGD, {"weight_decay": 0.1}), (Adam, {})]
print("                           None    zeros")
for kind, options in kinds:
    moves = [moved_by_second_step(kind, to_none, **options) for to_none in (True, False)]
    print(f"{kind.__name__:5}{options!s:22}{moves[0]}  {moves[1]}")

# %% order-zero-explain [markdown]
# Momentum goes on by itself, weight decay pulls towards 0, Adam remembers. `None` says "no
# gradient", and 0 says "a gradient, and it is 0".

# %% what-if [markdown]
# ## What if?
#
# Three passes with plain arithmetic in place of an optimizer. Switch the two lines on and off. Say
# each time what `q` and `q.grad` will be at the end.


# %% what-if-explore
def three_passes(q, zero_grad=True, step=True):
    for _ in range(3):
        loss = 2 * q
        if zero_grad:
            q.grad = None
        loss.backward()
        if step:
            with torch.no_grad():
                q -= 0.1 * q.grad
    return loss


gradviz.explore(three_passes, q=1.0)

# %% accumulate [markdown]
# ## Add up on purpose
#
# A batch of 8 does not fit into memory. So you take four *micro-batches* of 2, call `backward` for
# each, and `step` once. The adding is what you want now. **Predict.**


# %% accumulate-program
torch.manual_seed(0)
x, y = torch.randn(8, 3).to(device), torch.randn(8).to(device)
w = torch.zeros(3, device=device, requires_grad=True)


def loss_of(part):
    return ((x[part] @ w - y[part]) ** 2).mean()


def compared_with_big_batch(parts, factors):
    w.grad = None
    for part, factor in zip(parts, factors):
        (loss_of(part) * factor).backward()
    (big,) = torch.autograd.grad(loss_of(range(8)), w)
    return [f"{ratio:.2f}" for ratio in (w.grad / big).tolist()]


fours = [[0, 1], [2, 3], [4, 5], [6, 7]]

# %% accumulate-predict tags=["hide-input"]
# question
choose(
    "Each micro-batch takes the mean of its losses. Compared with the batch of 8, `w.grad` is",
    {
        "1.00 times as large": "It would be, if each loss were divided by 4 first.",
        "2.00 times as large": "The size of a micro-batch does not matter, their number does.",
        "4.00 times as large": "The big batch divides by 8, each micro-batch by 2 only.",
    },
    right=f"{compared_with_big_batch(fours, [1] * 4)[0]} times as large",
)

# %% accumulate-run tags=["hide-output"] claims=["X8"]
print("Torch's answer:")
print("four micro-batches:    ", *compared_with_big_batch(fours, [1] * 4))
print("each loss divided by 4:", *compared_with_big_batch(fours, [1 / 4] * 4))

# %% accumulate-explain [markdown]
# With a factor of 4 in the gradient, plain SGD makes steps four times as long. Divide each loss by
# the number of micro-batches. No `retain_graph` is needed: each micro-batch has its own graph.
#
# There are two more places in a loop where `.grad` is read. **Clipping** makes a long gradient
# shorter, so it has to come when the gradient is complete: after the last `backward`, before
# `step`. What it returns is the length *before* clipping.

# %% clip-run claims=["X9"]
q = nn.Parameter(torch.tensor([3.0, 4.0], device=device))
print("before backward:", nn.utils.clip_grad_norm_([q], max_norm=1.0).item(), "  q.grad:", q.grad)
(q * q / 2).sum().backward()
print("after backward: ", nn.utils.clip_grad_norm_([q], max_norm=1.0).item(), end="  ")
print(" q.grad:", [round(v, 4) for v in q.grad.tolist()])

# %% inside [markdown]
# And a step can be taken **inside backward**, as soon as a gradient is complete. Then the gradient
# can be dropped at once, and the gradients of a large network are never in memory together. In the
# recording, look for the moment at which `p` changes: `q` has no gradient yet.

# %% inside-show claims=["X7"]
p, q = (nn.Parameter(torch.ones(1, device=device)) for _ in range(2))
for parameter in (p, q):
    optimizer = torch.optim.SGD([parameter], lr=0.1)

    def step_and_drop(parameter, optimizer=optimizer):
        optimizer.step()
        optimizer.zero_grad()

    parameter.register_post_accumulate_grad_hook(step_and_drop)

with gradviz.record() as recording:
    loss = 3 * q * p
    loss.backward()

print("p, q:", round(p.item(), 4), round(q.item(), 4), "  gradients:", p.grad, q.grad)
gradviz.show(recording, step=2)

# %% repair [markdown]
# ## Repair a broken program
#
# Three micro-batches again, this time of 3, 3 and 2. Somebody has learned to divide by their
# number, and still does not get the gradient of the big batch.

# %% repair-broken
unequal = [[0, 1, 2], [3, 4, 5], [6, 7]]
print("ratio to the batch of 8:", *compared_with_big_batch(unequal, [1 / 3, 1 / 3, 1 / 3]))


# %% repair-predict tags=["hide-input"]
# question
def what_sample_7_counts():
    losses = torch.ones(8, requires_grad=True)
    for part in unequal:
        (losses[part].mean() / 3).backward()
    return f"1/{1 / losses.grad[7]:.0f}"


choose(
    "In the big batch each sample counts 1/8. What does sample 7 count in this program?",
    {
        "1/3": "That is what its whole micro-batch counts, and it is one of two.",
        "1/6": "One half of its micro-batch, which counts one third. That is too much.",
        "1/8": "Then the gradients would agree.",
        "1/9": "That is what a sample of the first micro-batch counts.",
    },
    right=what_sample_7_counts(),
)

# %% repair-ask [markdown]
# **Your turn.** Change the factors in the first line so that every sample counts the same.

# %% repair-try
factors = [1 / 3, 1 / 3, 1 / 3]

ratios = compared_with_big_batch(unequal, factors)
print("repaired:" if ratios == ["1.00"] * 3 else "not yet:", *ratios)

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
factors = [len(part) / 8 for part in unequal]
# Or add up sums in place of means, and divide by 8 once. For texts count tokens, not rows.

print(*compared_with_big_batch(unequal, factors))

# %% third-table [markdown]
# ## True or false?
#
# **Heard in the wild:** a page shows three tables like those of our sandal. With `zero_grad`,
# without it, and a third one, "without `optimizer.step()`". The third table is the first one,
# digit for digit.
#
# Without `step()` nothing moves. So can the numbers of the first table be right, which drift from
# 0.0180 to 0.0178? Let torch answer.

# %% third-table-run claims=["C54"]
with_step = ten_passes(sandal, 5)
without_step = ten_passes(sandal, 5, step=False)
print_rows(without_step)
print("all ten the same, without step:", all(row == without_step[0] for row in without_step))
print("all ten the same, with step:   ", all(row == with_step[0] for row in with_step))

# %% third-table-explain [markdown]
# **False.** The table on that page was made with `step()`: the line had been left in by mistake.
# You can tell from the table alone. If the weights stay where they are, the gradient stays the
# same to the last bit.

# %% exercise [markdown]
# ## On your own
#
# `q` is 1, its gradient is always 2, the learning rate is 0.1. What is `q` at the end?
#
# 1. three times: zero_grad, forward, backward, step
# 2. three times: forward, backward, step
# 3. three times: forward, backward; then one step
# 4. three times: forward, backward, zero_grad, step
#
# Four numbers, separated by blanks.


# %% exercise-try
def check_values(mine):
    truth = [train(order)[-1] for order in (ORDERS["zero_grad first"], ORDERS["no zero_grad"])]
    truth += train("forward backward " * 3 + "step", passes=1)
    truth += train(ORDERS["zero_grad after backward"])[-1:]
    given = [float(word) if word != "?" else None for word in mine.split()]
    print(sum(m == t for m, t in zip(given, truth)), "of", len(truth), "right")


check_values("? ? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_values("0.4 -0.2 0.4 1.0")

# %% construct [markdown]
# Now build one: two backwards after which `v.grad` is 0. A real 0, not `None`, and nobody calls
# `zero_grad`.

# %% construct-try
v = torch.tensor(1.0, device=device, requires_grad=True)
(2 * v).backward()
(3 * v).backward()

print("v.grad:", None if v.grad is None else v.grad.item())
print("done" if v.grad is not None and v.grad == 0 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# Backward adds to `.grad` of the leaf and never clears it, `step` reads it and never clears it,
# and `zero_grad` drops it: so `zero_grad` belongs anywhere but between these two. Adding is also a
# tool, if every sample is made to count the same.
#
# **Next:** [6. A new graph every time](06-a-new-graph-every-time.ipynb) asks what is new in each
# pass, and when the old one goes.
