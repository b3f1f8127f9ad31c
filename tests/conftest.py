"""Random programs are the same in each run, and have as long as a busy machine needs."""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    # The phase that explains traces what runs, as a debugger does: then other things are alive.
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")
