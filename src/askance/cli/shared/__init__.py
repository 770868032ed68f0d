"""What all commands share: options, errors, progress, printing."""
