"""Training of the fine-tuned controls."""
