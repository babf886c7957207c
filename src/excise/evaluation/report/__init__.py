"""The report on runs: tables, the trade-off plot, a browser of single queries; plots of diagnosis and calibration."""
