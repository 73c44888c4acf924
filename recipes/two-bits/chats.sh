#!/usr/bin/env bash
# Let a model answer questions, and keep questions and answers as conversations: what `dibit perplexity` and `dibit compare` measure chats on.
#
#   recipes/two-bits/chats.sh MODEL QUESTIONS OUTPUT.jsonl [TOKENS]
#
# QUESTIONS is a text file with a question on each line. Answers are drawn from the model's own probabilities, each with another seed, and end
# after TOKENS tokens (128). What OUTPUT has already is not asked again. DIBIT names the program; by default the one on the PATH.

set -u -o pipefail
# shellcheck source=../script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script.sh"
begin 3 4 "$@"
model=$1 questions=$2 out=$3 tokens=${4:-128}
[ -r "$questions" ] || die 66 "there is no '$questions'"
touch "$out" || exit 73

scratch=$(mktemp -d) || exit 73
trap 'rm -rf "$scratch"' EXIT
total=$(grep -c . "$questions")
line=$(wc -l < "$out")
grep . "$questions" | tail -n +$((line + 1)) | while IFS= read -r question; do
    line=$((line + 1))
    printf '%s\n' "$question" | "$dibit" chat "$model" --temperature 1 --seed "$line" --max-tokens "$tokens" \
        --save "$scratch/chat.json" --overwrite >/dev/null || exit
    # A line breaks nowhere inside a JSON string.
    printf '{"messages":%s}\n' "$(tr -d '\n' < "$scratch/chat.json")" >> "$out" || exit
    if [ $((line % 20)) = 0 ] || [ "$line" = "$total" ]; then printf 'chats: %s of %s answered\n' "$line" "$total" >&2; fi
done
