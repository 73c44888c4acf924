#!/usr/bin/env bash
# Makes examples of instructions and answers from what corpus.sh made and fetched:
#
#   recipes/base/instructions.sh [.build-corpus [HELD-OUT-FILE-OR-FOLDER...]]
#
# Tagging (with and without a list of the labels, one to three tags), titles and summaries, key words, years and names in a text, meanings of
# words, synonyms, opposites: chats with control tokens, an example a line or more, a blank line between. Writes
#
#   OUTPUT/instructions/NNN.txt                the examples, all tasks mixed
#   OUTPUT/instructions-validation/TASK.txt    one text in a hundred
#   OUTPUT/INSTRUCTIONS.txt                    how many of each task, and the digests
#
# Texts that share eight words in a row with datasets/ or with a file given on the command line are left out. The same input gives the same
# bytes. Needs bash, perl (perl-base), gzip and dpkg-deb.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-.build-corpus}
[ $# -eq 0 ] || shift
for file in documents.gz packages/Packages.gz packages/Translation-en.gz; do
  [ -s "$out/$file" ] || { echo "error: '$out/$file' is missing: run recipes/base/corpus.sh $out first" >&2; exit 66; }
done
wordnet=$(find "$out/packages" -name 'wordnet-base_*.deb' | sort -V | tail -n 1)
[ -n "$wordnet" ] || { echo "error: '$out/packages' holds no wordnet-base: run recipes/base/corpus.sh $out first" >&2; exit 66; }
held_out=()
for path in "$here/../../datasets" "$@"; do
  [ -e "$path" ] || { echo "error: the held-out '$path' does not exist" >&2; exit 66; }
  while IFS= read -r -d '' file; do held_out+=("$file"); done < <(find -L "$path" -type f -print0 | sort -z)
done

work=$out/instructions.work
rm -rf "$work"
mkdir -p "$work/wordnet" "$work/train" "$work/validation"
trap 'rm -rf "$work"' EXIT
dpkg-deb -x "$wordnet" "$work/wordnet"
gzip -dc "$out/packages/Packages.gz" >"$work/Packages"
gzip -dc "$out/packages/Translation-en.gz" >"$work/Translation-en"
{
  perl "$here/instructions/wordnet.pl" "$work/wordnet/usr/share/wordnet"
  gzip -dc "$out/documents.gz" | perl "$here/instructions/documents.pl"
  perl "$here/instructions/programs.pl" "$work/Packages" "$work/Translation-en"
} >"$work/rows"
perl "$here/instructions/finish.pl" "$work/train" "$work/validation" "${held_out[@]}" <"$work/rows" >"$work/counts"
{
  printf 'Dibit instruction examples\n\nExamples by task (T training, V validation) and what was left out\n\n'
  cat "$work/counts"
  printf '\nFiles written (SHA-256, path)\n\n'
  (cd "$work" && sha256sum train/*.txt validation/*.txt) | sed -e 's| train/| instructions/|' -e 's| validation/| instructions-validation/|'
} >"$work/INSTRUCTIONS.txt"
rm -rf "$out/instructions" "$out/instructions-validation"
mv "$work/train" "$out/instructions"
mv "$work/validation" "$out/instructions-validation"
mv "$work/INSTRUCTIONS.txt" "$out/INSTRUCTIONS.txt"
cat "$work/counts"
