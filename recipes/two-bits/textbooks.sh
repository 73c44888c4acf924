#!/usr/bin/env bash
# Plain English to train two bits on: eleven textbooks of OpenStax, from their repositories on GitHub.
#
#   recipes/two-bits/textbooks.sh [OUTPUT-FOLDER [CLONES [HELD-OUT-FILE-OR-FOLDER...]]]        (defaults .build-textbooks, OUTPUT-FOLDER.clones)
#
# Writes OUTPUT/NAME.txt for each repository in textbooks.tsv, sections separated by a blank line, and OUTPUT/MANIFEST.tsv: repository, commit, licence,
# bytes. About 20 MB in all, five million tokens. Repositories are cloned into CLONES without their pictures; those that are there
# already are not fetched again. Paragraphs that share eight words in a row with a held-out text are left out. The same commits and
# held-out texts give the same bytes.
#
# Most of the books are for non-commercial use: textbooks.tsv says which. Delete a line there to do without one. ORIGIN is where the repositories lie.
# Needs bash, git and perl (perl-base).

set -u -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { printf 'textbooks: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) printf 'usage: textbooks.sh [OUTPUT-FOLDER [CLONES [HELD-OUT-FILE-OR-FOLDER...]]]\n' >&2; exit 64 ;;
esac
out=${1:-.build-textbooks}
clones=${2:-${out%/}.clones}
[ $# -lt 2 ] && shift $# || shift 2
origin=${ORIGIN:-https://github.com/openstax}
for tool in git perl; do command -v "$tool" >/dev/null 2>&1 || die "$tool not found"; done
held_out=()
for path in "$@"; do
    [ -e "$path" ] || die "the held-out '$path' does not exist"
    while IFS= read -r -d '' file; do held_out+=("$file"); done < <(find -L "$path" -type f -print0 | sort -z)
done
mkdir -p "$out" "$clones" || exit 73

: >"$out/MANIFEST.tsv.part" || exit 73
while IFS=$'\t' read -r name licence; do
    case "$name" in '#'* | '') continue ;; esac
    clone=$clones/$name
    if [ ! -d "$clone" ]; then
        rm -rf "$clone.part"
        git clone --quiet --depth 1 --filter=blob:none --sparse "$origin/$name" "$clone.part" &&
            git -C "$clone.part" sparse-checkout set modules && mv "$clone.part" "$clone" ||
            die "cannot clone $origin/$name; run it again to go on"
    fi
    commit=$(git -C "$clone" rev-parse HEAD) || die "'$clone' is no clone of $origin/$name: delete it"
    text=$out/${name#osbooks-}.txt
    git -C "$clone" ls-tree -r --name-only HEAD modules | grep '\.cnxml$' | sed 's/^/HEAD:/' | git -C "$clone" cat-file --batch |
        perl "$here/textbooks.pl" ${held_out[@]+"${held_out[@]}"} >"$text.part" && [ -s "$text.part" ] ||
        die "no text came out of '$clone': delete it, and run this again"
    mv "$text.part" "$text" || exit 73
    printf '%s\t%s\t%s\t%s\n' "$name" "$commit" "$licence" "$(wc -c <"$text")" | tee -a "$out/MANIFEST.tsv.part"
done <"$here/textbooks.tsv"
mv "$out/MANIFEST.tsv.part" "$out/MANIFEST.tsv"
