#!/usr/bin/env bash
# Twenty plain questions to each of some models, and what they answer: what a perplexity feels like.
#
#   recipes/two-bits/ask.sh MODEL...
#
# Prints a line for each question and model. Answers are greedy and end after 32 tokens. DIBIT names the program; by default the one on the PATH.

set -u -o pipefail
# shellcheck source=../script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script.sh"
begin 1 1000 "$@"

while IFS= read -r question; do
    printf '%s\n' "$question"
    for model in "$@"; do
        answer=$("$dibit" generate "$model" --prompt "$question" --temperature 0 --max-tokens 32 2>/dev/null </dev/null) || exit
        printf '  %-12s %s\n' "$(basename "$model")" "$(tr '\n' ' ' <<<"$answer")"
    done
done <<'QUESTIONS'
What is the capital of France?
How many days are in a week?
What color is the sky on a clear day?
What do bees make?
Who wrote Romeo and Juliet?
What is the opposite of hot?
What is 2 + 2?
Name a fruit that is yellow.
What is water made of?
Which planet do we live on?
What do you use to cut paper?
What season comes after winter?
What is the largest ocean?
What animal says meow?
What do plants need to grow?
What language is spoken in Brazil?
How many legs does a spider have?
What is the freezing point of water in Celsius?
What is a dictionary for?
Why do we sleep?
QUESTIONS
