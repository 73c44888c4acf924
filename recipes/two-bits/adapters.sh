#!/usr/bin/env bash
# What adapters lose at two bits, and what a teacher gives back: for each set of labelled texts an adapter on the floats, one on the model, and
# one on the model that the first teaches, with texts that nobody has labelled where there are some.
#
#   recipes/two-bits/adapters.sh CHECKPOINT MODEL SETS [OUTPUT-DIRECTORY]
#
# CHECKPOINT is the float checkpoint that MODEL was converted from. SETS is a folder of sets as `dibit train` reads them, with a test split, and
# of SET.unlabelled.jsonl beside them: ../datasets/sentences.sh makes six. Writes
#
#   OUTPUT/floats          CHECKPOINT in 16 bits
#   OUTPUT/SET/floats      the adapter of the floats
#   OUTPUT/SET/alone       the adapter of MODEL
#   OUTPUT/SET/taught      the adapter of MODEL that the one of the floats teaches
#   OUTPUT/SET.html        all of them and classifiers of words and of embeddings on the test split; the table is printed, too
#
# OUTPUT is .build-adapters unless it is given. What is there already is not made again, and what was stopped goes on. DIBIT names the program; by
# default the one on the PATH.

set -u -o pipefail
# shellcheck source=../script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script.sh"
begin 3 4 "$@"
checkpoint=$1 model=$2 sets=$3 out=${4:-.build-adapters}
shopt -s nullglob
folders=("$sets"/*/)
[ ${#folders[@]} -gt 0 ] || die 66 "'$sets' is no folder of sets: expected SETS/NAME/, as recipes/datasets/sentences.sh makes them"

mkdir -p "$out" || exit 73
step floats convert "$checkpoint" --bits 16 --no-check
for data in "${folders[@]}"; do
    data=${data%/} set=$(basename "$data")
    mkdir -p "$out/$set" || exit 73
    unlabelled=()
    if [ -e "$data.unlabelled.jsonl" ]; then unlabelled=(--unlabelled-texts "$data.unlabelled.jsonl"); fi
    step "$set/floats" train "$out/floats" --data "$data" --resume
    step "$set/alone" train "$model" --data "$data" --resume
    step "$set/taught" train "$model" --data "$data" --resume --teacher "$out/floats" --teacher-adapter "$out/$set/floats" "${unlabelled[@]}"
    "$dibit" evaluate "$model" --adapter "$out/$set/alone" --adapter "$out/$set/taught" --compare "$out/floats" \
        --adapter "$out/$set/floats" --data "$data" --leave-out-leakage --baselines words,tfidf,logistic \
        --report "$out/$set.html" --overwrite || exit
done
