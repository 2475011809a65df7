"""Networks in torch; modules here import torch and are imported by the selectors only when needed."""
