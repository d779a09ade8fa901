"""Diagnosis: what the misfits say about the sensors. It reads what a fit has found and never trains."""

from napinn.diagnostics.sensors.scales import noisy_scales, sensor_scales
from napinn.diagnostics.sensors.sensors import judge_sensors, stuck_readings, suspects

__all__ = ["judge_sensors", "noisy_scales", "sensor_scales", "stuck_readings", "suspects"]
