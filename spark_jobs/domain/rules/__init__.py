"""The rules: one module each, with what it means, when it holds, its severity, causes and advice."""
