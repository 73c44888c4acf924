#!/usr/bin/env bash
# Let a model answer questions, and keep questions and answers as conversations: what `dibit perplexity` and `dibit compare` measure chats on.
#
#   recipes/two-bits/chats.sh MODEL QUESTIONS OUTPUT.jsonl [TOKENS]
#
# QUESTIONS is a text file with a question on each line. Answers are drawn from the model's own probabilities, each with another seed, and end
# after TOKENS tokens (128). What OUTPUT has already is not asked again. DIBIT names the program; by default the one on the PATH.

set -u -o pipefail
case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
    printf 'usage: chats.sh MODEL QUESTIONS OUTPUT.jsonl [TOKENS]\n' >&2
    exit 64
fi
model=$1 questions=$2 out=$3 tokens=${4:-128}
dibit=${DIBIT:-dibit}
command -v "$dibit" >/dev/null 2>&1 || { printf 'chats: %s is not on the PATH: make build, or set DIBIT\n' "$dibit" >&2; exit 69; }
[ -r "$questions" ] || { printf 'chats: %s: cannot be read\n' "$questions" >&2; exit 66; }
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
