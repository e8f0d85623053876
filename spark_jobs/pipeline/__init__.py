"""One run: sources → check, fold, gather, judge, check → gate → publish; `run` is its table of contents."""
