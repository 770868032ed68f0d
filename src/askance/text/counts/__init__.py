"""What counts of tags say: equations, likelihood, moments, miscounts."""
