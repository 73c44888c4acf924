#!/usr/bin/env bash
# Bring a float checkpoint to two bits step by step, and show what each step is worth.
#
#   recipes/two-bits/steps.sh CHECKPOINT TRAINING-TEXT TEST-TEXT [OUTPUT-DIRECTORY [STEPS]]
#
# CHECKPOINT is what `dibit convert` reads. TRAINING-TEXT and TEST-TEXT are text files or folders of them, and must not share text. Writes
#
#   OUTPUT/nearest            two bits, each weight at its nearest level: seconds
#   OUTPUT/quick              two bits, calibrated with --effort quick on text that the model writes itself: minutes
#   OUTPUT/own                two bits, calibrated on such text: minutes
#   OUTPUT/calibrated         two bits, calibrated on TRAINING-TEXT and a little of the model's own: minutes
#   OUTPUT/thorough           the same with --effort thorough: most of an hour
#   OUTPUT/mixed              as OUTPUT/calibrated at three bits over the whole model, spent where they matter: minutes
#   OUTPUT/four               the same at four bits: minutes
#   OUTPUT/trained            the thorough model after STEPS steps of training on the grid (300, of 4,096 tokens each): most of an hour
#   OUTPUT/comparison.html    all of them beside CHECKPOINT on the first 8,192 tokens of TEST-TEXT; the table is printed, too
#
# OUTPUT is .build-two-bits unless it is given. What is there already is not made again, and what was stopped goes on. DIBIT names the
# program; by default the one on the PATH.

set -u -o pipefail
# shellcheck source=../script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script.sh"
begin 3 5 "$@"
checkpoint=$1 training=$2 test=$3 out=${4:-.build-two-bits} steps=${5:-300}
mkdir -p "$out" || exit 73

step nearest convert "$checkpoint" --no-check
step quick convert "$checkpoint" --no-check --calibrate --resume --effort quick
step own convert "$checkpoint" --no-check --calibrate --resume
step calibrated convert "$checkpoint" --no-check --calibrate --calibration-text "$training" --resume
step thorough convert "$checkpoint" --no-check --calibrate --calibration-text "$training" --resume --effort thorough
step mixed convert "$checkpoint" --no-check --calibrate --calibration-text "$training" --resume --bits 3
step four convert "$checkpoint" --no-check --calibrate --calibration-text "$training" --resume --bits 4
step trained qat "$checkpoint" --from "$out/thorough" --data "$training" --steps "$steps" --resume
"$dibit" compare "$out"/{nearest,quick,own,calibrated,thorough,mixed,four,trained} --reference "$checkpoint" --data "$test" \
    --html "$out/comparison.html" --overwrite
