"""Random programs are the same in each run, and have as long as a busy machine needs."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")
