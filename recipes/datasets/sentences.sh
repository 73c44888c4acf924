#!/usr/bin/env bash
# The six sets that others measure classifiers of sentences on, as folders that `dibit train` and `dibit evaluate` read.
#
#   recipes/datasets/sentences.sh [OUTPUT-FOLDER [CLONES [TEXTS-A-LABEL]]]        (defaults .build-sentences, OUTPUT-FOLDER.clones, 100)
#
# Writes for each set that sentences.tsv names OUTPUT/SET/train.jsonl, so many texts of each label; OUTPUT/SET/test.jsonl, up to 1,000 others, of the
# set's own test part where it has one; and OUTPUT/SET.unlabelled.jsonl, up to 1,500 others without their labels, for `--unlabelled-texts`. The draw
# depends on the texts alone: the same files give the same bytes, and more texts a label begin with the fewer ones.
#
# Repositories are cloned into CLONES; those that are there already are not fetched again. The texts belong to others and stay out of this
# repository: see what their README files say. ORIGIN is where the repositories lie. Needs bash, git and perl (perl-base).

set -u -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { printf 'sentences: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) printf 'usage: sentences.sh [OUTPUT-FOLDER [CLONES [TEXTS-A-LABEL]]]\n' >&2; exit 64 ;;
esac
out=${1:-.build-sentences} origin=${ORIGIN:-https://github.com}
clones=${2:-${out%/}.clones} texts=${3:-100}
[[ $texts =~ ^[1-9][0-9]{0,6}$ ]] || { printf 'sentences: TEXTS-A-LABEL: expected a number from 1, found %s\n' "$texts" >&2; exit 64; }
for tool in git perl; do command -v "$tool" >/dev/null 2>&1 || die "$tool not found"; done
mkdir -p "$out" "$clones" || exit 73
# shellcheck source=../clone.sh
. "$here/../clone.sh"
work=$out/work
trap 'rm -rf "$work"' EXIT

while IFS=$'\t' read -r set repository files labels; do
    case "$set" in '#'* | '') continue ;; esac
    clone "$repository" --no-checkout
    read -r learn test <<<"$files"
    rm -rf "$work"
    mkdir -p "$work" || exit 73
    for file in $learn ${test:-}; do
        git -C "$clone" show "HEAD:$file" >"$work/$(basename "$file")" || die "'$clone' has no $file: delete it, and run this again"
    done
    perl "$here/sentences.pl" "$texts" "$labels" "$work" "$work/$(basename "$learn")" ${test:+"$work/$(basename "$test")"} ||
        die "no set came out of '$clone'"
    mkdir -p "$out/$set" && mv "$work"/{train,test}.jsonl "$out/$set" && mv "$work/unlabelled.jsonl" "$out/$set.unlabelled.jsonl" || exit 73
    printf '%-8s %6d to learn from, %5d to be tested on, %5d without labels\n' "$set" \
        "$(wc -l <"$out/$set/train.jsonl")" "$(wc -l <"$out/$set/test.jsonl")" "$(wc -l <"$out/$set.unlabelled.jsonl")"
done <"$here/sentences.tsv"
