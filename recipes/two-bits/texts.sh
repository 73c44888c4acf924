#!/usr/bin/env bash
# Plain English of many kinds to train two bits on: textbooks, news, speeches, novels, letters, encyclopedias, from repositories on GitHub.
#
#   recipes/two-bits/texts.sh [OUTPUT-FOLDER [CLONES [HELD-OUT-FILE-OR-FOLDER...]]]        (defaults .build-texts, OUTPUT-FOLDER.clones)
#
# Writes OUTPUT/NAME.txt for each source in texts.tsv, documents separated by a blank line, and beside the folder OUTPUT.sources.tsv: source, commit, licence,
# bytes. About 38 MB in all, eight million tokens. Repositories are cloned into CLONES, of each only the files that are read; those that are there already are
# not fetched again. Paragraphs that share eight words in a row with a held-out text are left out. The same commits and held-out texts give
# the same bytes.
#
# Many of the sources are for non-commercial use: texts.tsv says which. Delete a line there to do without one. ORIGIN is where the repositories lie.
# Needs bash, git, perl (perl-base), tar and unzip.

set -u -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { printf 'texts: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) printf 'usage: texts.sh [OUTPUT-FOLDER [CLONES [HELD-OUT-FILE-OR-FOLDER...]]]\n' >&2; exit 64 ;;
esac
out=${1:-.build-texts}
clones=${2:-${out%/}.clones}
[ $# -lt 2 ] && shift $# || shift 2
origin=${ORIGIN:-https://github.com}
for tool in git perl tar unzip; do command -v "$tool" >/dev/null 2>&1 || die "$tool not found"; done
held_out=()
for path in "$@"; do
    [ -e "$path" ] || die "the held-out '$path' does not exist"
    while IFS= read -r -d '' file; do held_out+=("$file"); done < <(find -L "$path" -type f -print0 | sort -z)
done
mkdir -p "$out" "$clones" || exit 73
# shellcheck source=../clone.sh
. "$here/../clone.sh"
work=$out/work
trap 'rm -rf "$work"' EXIT

# Not in the folder, all of which is read as text.
sources=${out%/}.sources.tsv
: >"$sources.part" || exit 73
while IFS=$'\t' read -r name repository path kind licence; do
    case "$name" in '#'* | '') continue ;; esac
    clone "$repository" --sparse
    commit=$(git -C "$clone" rev-parse HEAD) || die "'$clone' is no clone of $origin/$repository: delete it"
    # A folder's files are fetched at once; a single file is when it is read.
    if [[ $path != *.zip ]] && [ ! -d "$clone/$path" ] && [ "$(git -C "$clone" rev-parse --is-bare-repository)" = false ]; then
        git -C "$clone" sparse-checkout add "$path" || die "cannot fetch $path of $origin/$repository; run it again to go on"
    fi
    rm -rf "$work"
    mkdir -p "$work" && git -C "$clone" archive HEAD "$path" | tar -xf - -C "$work" || die "'$clone' has no $path: delete it, and run this again"
    case "$path" in *.zip) unzip -q "$work/$path" -d "$work" && rm "$work/$path" || die "'$clone': $path cannot be unpacked" ;; esac
    find "$work" -type f -print0 | sort -z | xargs -0 perl "$here/texts.pl" "$kind" "${#held_out[@]}" ${held_out[@]+"${held_out[@]}"} >"$out/$name.txt.part" &&
        [ -s "$out/$name.txt.part" ] || die "no text came out of $path in '$clone': delete it, and run this again"
    mv "$out/$name.txt.part" "$out/$name.txt" || exit 73
    printf '%s\t%s\t%s\t%s\n' "$name" "$commit" "$licence" "$(wc -c <"$out/$name.txt")" | tee -a "$sources.part"
done <"$here/texts.tsv"
mv "$sources.part" "$sources"
