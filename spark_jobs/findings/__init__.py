"""What is wrong. Every rule makes touches (a condition seen in one interval, on one queue or none); `conditions`
folds them to one finding each, `evidence` measures what it cost, `finding` puts it into words.
"""
