#!/usr/bin/env bash
# From few labelled texts an adapter on two bits that is nearly as good as one on floats: the float model writes more texts like them, its own
# adapter labels these, and the adapter on two bits learns from both.
#
#   recipes/two-bits/taught.sh CHECKPOINT MODEL DATA [OUTPUT-DIRECTORY [TEXTS]]
#
# CHECKPOINT is the float checkpoint that MODEL was converted from, DATA labelled texts as for `dibit train`. Writes
#
#   OUTPUT/floats                  CHECKPOINT in 16 bits
#   OUTPUT/adapter                 the adapter of MODEL
#   OUTPUT/adapter.teacher         the adapter of the floats, trained on DATA
#   OUTPUT/adapter.written.jsonl   TEXTS texts (1000) like those of DATA
#   OUTPUT/report.html             is it any good? Beside MODEL without it, and cheap classifiers
#
# OUTPUT is .build-taught unless it is given. What is there already is not made again, and what was stopped goes on. DIBIT names the program; by
# default the one on the PATH.

set -u -o pipefail
# shellcheck source=../script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script.sh"
begin 3 5 "$@"
checkpoint=$1 model=$2 data=$3 out=${4:-.build-taught} texts=${5:-1000}
mkdir -p "$out" || exit 73

step floats convert "$checkpoint" --bits 16 --no-check
step adapter train "$model" --data "$data" --teacher "$out/floats" --written-texts "$texts" --resume
"$dibit" evaluate "$model" --adapter "$out/adapter" --data "$data" --report "$out/report.html" --overwrite
