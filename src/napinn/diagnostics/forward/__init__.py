"""The equations solved forward in time from the fitted start, beside field and readings."""
