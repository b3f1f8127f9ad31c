"""How much looking costs: gradviz beside a bare walk and torchviz, in one run.

``make bench``, or ``python -m benchmarks [--quick] [--only NAME] [--json PATH]``.

**How to read it.** Every line of the first table is one graph. *bare* is the floor: a Python loop
that follows ``next_functions`` and collects names and edges, in microseconds a node. The next
columns are ratios to that floor in the same rounds: 3.0x is three times as long.

- ``snapshot``: :func:`gradviz.snapshot`, every fact.
- ``make_dot``, ``make_dot saved``: torchviz plain, and with ``show_saved`` and ``show_attrs``.
- ``faster``, ``faster (saved)``: time of each of the two over the time of ``snapshot``; above 1
  gradviz is the faster one.

*fresh*: the graph was just built and nobody has looked at it, which is what a user has; since
torch 2.13 the first walk also makes the nodes' Python wrappers. *warm*: the second look at the
same graph.

**How it is measured.** Contenders take turns, one fresh graph each, round after round. *best* is
the ratio of the fastest times, *median* the median of the ratios within each round. Python's
garbage collector is run before and off while the clock runs. Times are CPU time of the process,
which a busy machine disturbs least; the browser's are wall time. Each graph has a process of its
own, so that a crash is a result. Nothing here fails because a time is long: compare ratios with
those of the last release, and look at ``load`` in the first line: above 1 the machine was busy.

torchviz recurses: by default it ends with RecursionError on chains of about 1,000 nodes. The
remarks say so, and it is then measured with the limit lifted, where it survives that.

*Beside other tools* lets gradviz, torchviz, torchview and torchlens look at the same models:
seconds until each has read it, and until its picture is a file, memory, size of the picture, and
how it fails: an error, or no answer in the time. torchview and torchlens are in an environment of
their own (``make bench`` makes it), and need Graphviz' ``dot``. *Scale* does everything that is
done with a graph at sizes up to a million nodes; ``--plot`` draws the growth.

The other tables: memory per node (``tracemalloc`` for the Graph; growth of the resident set for
what looking leaves behind in torch's graph), the import, layout and drawing, and the time until a
widget is on screen, in a bare page and in JupyterLab.
"""
