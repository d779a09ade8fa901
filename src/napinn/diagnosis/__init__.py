"""Diagnosis: what the misfits say about the sensors. It reads what a fit has found and never trains."""

from napinn.diagnosis.scales import noisy_scales, sensor_scales
from napinn.diagnosis.sensors import judge

__all__ = ["judge", "noisy_scales", "sensor_scales"]
