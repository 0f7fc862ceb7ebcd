"""Commands that write projects and code: `init`, `create`, `upgrade`, `codegen`."""
