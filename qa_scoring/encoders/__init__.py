"""What all models of this package stand on: the base, where models are looked for, batches, devices, kept scores."""
