"""Code that several commands share: options, output, exit codes, shell completion, targets."""
