"""Refresh methods: what each needs and costs, and the choice between them."""
