"""Networks in torch. The selectors import these modules only when they need torch."""
