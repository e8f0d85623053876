"""One run: sources → check, fold, gather, evaluate, check → gate → publish; `run` is its table of contents."""
