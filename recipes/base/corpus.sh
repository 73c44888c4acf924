#!/usr/bin/env bash
# Build the text corpus for the base models.
#
#   recipes/base/corpus.sh [OUTPUT-DIRECTORY [HELD-OUT-FILE-OR-FOLDER...]]        (default .build-corpus)
#
# Fetches the Debian packages that sources.tsv names, checks their licences, turns them into plain UTF-8 English and writes
#
#   OUTPUT/packages/             the packages and the list of descriptions (kept: later runs work offline)
#   OUTPUT/train/NNN.txt         documents separated by a blank line, all sources mixed
#   OUTPUT/validation/NAME.txt   about one document in a hundred of each source
#   OUTPUT/documents.gz          the training documents with their sources and headings, for instructions.sh
#   OUTPUT/MANIFEST.txt          sources, licences, versions, sizes, SHA-256 sums
#
# Paragraphs that share eight words in a row with datasets/ or with a file given on the command line are left out. Nothing is installed.
# Needs bash, coreutils, gzip, sed, awk, perl (perl-base), iconv, dpkg-deb, and apt-get when something is not in OUTPUT/packages yet.
# The same packages and held-out files give the same bytes.

set -u -o pipefail
export LC_ALL=C
umask 022
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { printf 'corpus: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) die "unknown option $1 (usage: corpus.sh [OUTPUT-DIRECTORY [HELD-OUT-FILE-OR-FOLDER...]])" ;;
esac

out=${1:-.build-corpus}
[ $# -eq 0 ] || shift
for tool in awk sed sort gzip sha256sum od iconv dpkg-deb perl find grep; do
    command -v "$tool" >/dev/null 2>&1 || die "$tool not found; this recipe needs a Debian system"
done
held_out=()
for path in "$here/../../datasets" "$@"; do
    [ -e "$path" ] || die "the held-out '$path' does not exist"
    while IFS= read -r -d '' file; do held_out+=("$file"); done < <(find -L "$path" -type f -print0 | sort -z)
done
mkdir -p "$out/packages" 2>/dev/null || die "cannot create $out/packages"
out=$(cd "$out" && pwd) || die "cannot enter the output directory"
if [ -e "$out/train" ] || [ -e "$out/validation" ]; then
    [ -f "$out/MANIFEST.txt" ] && head -n 1 "$out/MANIFEST.txt" | grep -q '^Dibit base corpus' ||
        die "$out already holds train or validation folders of another kind; choose another directory"
fi

work=$out/work
rm -rf "$work"
mkdir -p "$work/text" "$work/copyright" "$work/package" || die "cannot create $work"
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=extract/own.sh
. "$here/extract/own.sh"

# --- packages --------------------------------------------------------------
# The package's file in OUTPUT/packages; empty when there is none.
deb_of() { find "$out/packages" -maxdepth 1 -name "$1_*.deb" | sort -V | tail -n 1; }

sandbox=()
[ "$(id -u)" -ne 0 ] || sandbox=(-o APT::Sandbox::User=root)

fetch() {
    local name=$1 message
    [ -z "$(deb_of "$name")" ] || return 0
    command -v apt-get >/dev/null 2>&1 || die "apt-get not found and $name is not in $out/packages"
    message=$(cd "$out/packages" && apt-get "${sandbox[@]}" -qq download "$name" 2>&1) ||
        die "apt-get could not download $name: $(printf '%s' "$message" | grep -m 1 '^[EW]:' || echo 'no reason given') (is the package list up to date?)"
    [ -n "$(deb_of "$name")" ] || die "apt-get left no file for $name in $out/packages"
}

# The lists of packages and descriptions are fetched into a folder of their own: the system's lists stay as they are.
fetch_descriptions() {
    local name list lists=$work/lists
    [ ! -f "$out/packages/Translation-en.gz" ] || [ ! -f "$out/packages/Packages.gz" ] || return 0
    command -v apt-get >/dev/null 2>&1 || die "apt-get not found and the lists of packages are not in $out/packages"
    mkdir -p "$lists/partial"
    apt-get "${sandbox[@]}" -o Dir::State::Lists="$lists" -o Acquire::Languages=en -qq update >"$work/update.log" 2>&1
    for name in Packages Translation-en; do
        list=$(find "$lists" -name "*debian*_main_*$name*" ! -name '*-updates*' ! -name '*-security*' | sort | head -n 1)
        [ -n "$list" ] || die "apt-get brought no $name: $(grep -m 1 '^[EW]:' "$work/update.log" || echo 'no reason given')"
        /usr/lib/apt/apt-helper cat-file "$list" | gzip -n >"$out/packages/$name.gz.new" || die "$list cannot be read"
        mv "$out/packages/$name.gz.new" "$out/packages/$name.gz"
    done
}

unpacked=
: >"$work/packages.txt"
# unpack PACKAGE: into work/package, which holds one package at a time, since some unpack to hundreds of megabytes.
unpack() {
    local name=$1 deb
    [ "$unpacked" != "$name" ] || return 0
    deb=$(deb_of "$name")
    rm -rf "$work/package"
    mkdir -p "$work/package"
    dpkg-deb -x "$deb" "$work/package" 2>/dev/null || die "$deb cannot be unpacked; remove it and run again"
    unpacked=$name
    local doc=$work/package/usr/share/doc/$name owner=$name
    [ ! -L "$doc" ] || owner=$(basename "$(readlink "$doc")")       # documentation in another package, which stands before in the table
    [ ! -f "$doc/copyright" ] || cp "$doc/copyright" "$work/copyright/$name"
    [ -f "$work/copyright/$owner" ] || die "$name has no copyright file"
    [ "$owner" = "$name" ] || cp "$work/copyright/$owner" "$work/copyright/$name"
    printf '%s %s  %s\n' "$name" "$(dpkg-deb -f "$deb" Version)" "$(sha256sum <"$deb" | cut -d ' ' -f 1)" >>"$work/packages.txt"
}

# --- extract ---------------------------------------------------------------
# extract EXTRACTOR [ARGUMENT] < NUL-separated files
extract() {
    local extractor=$1 argument=${2:-} files=()
    mapfile -d '' files
    case $extractor in
    html | roff | text) printf '%s\0' "${files[@]}" | xargs -0 perl "$here/extract/$extractor.pl" ;;
    strings) printf '%s\0' "${files[@]}" | xargs -0 perl "$here/extract/strings.pl" "$argument" ;;
    sword) perl "$here/extract/sword.pl" "${files[@]}" ;;
    dictionary) gzip -dcf <"${files[0]}" | perl "$here/extract/$argument" ;;
    *) "extract_$extractor" "${files[@]}" ;;
    esac
}

grep -v '^#' "$here/sources.tsv" >"$work/sources.tsv"
while IFS=$'\t' read -r -u 3 name kind style limit package extractor pattern but licence proof; do
    if [ "$package" = '(list)' ]; then
        fetch_descriptions
        list=$out/packages/Translation-en.gz
        printf 'Translation-en  %s\n' "$(sha256sum <"$list" | cut -d ' ' -f 1)" >>"$work/packages.txt"
        printf '%s\0' "$list" >"$work/files"
    else
        fetch "$package"
        unpack "$package"
        [ "$proof" = - ] || grep -qF -- "$proof" "$work/copyright/$package" ||
            die "the copyright file of $package no longer says \"$proof\"; check its licence before using it"
        find "$work/package" -type f -printf '%P\0' | grep -zE -- "$pattern" | grep -zvE -- "${but/#-/^$}" |
            sort -z | sed -z "s|^|$work/package/|" >"$work/files"
    fi
    [ -s "$work/files" ] || die "$package no longer contains files like $pattern"
    # shellcheck disable=SC2086
    extract $extractor <"$work/files" >"$work/text/$name" || die "the $name text could not be made from $package"
    [ -s "$work/text/$name" ] || die "the $name text came out empty; $package has changed"
    printf '%s\t%s\t%s\n' "$name" "$style" "$work/text/$name" >>"$work/table.tsv"
done 3<"$work/sources.tsv"
rm -rf "$work/package"

# --- clean, cap, split, shuffle --------------------------------------------
perl "$here/clean.pl" "$work/table.tsv" "$work/cleaned.tsv" "${held_out[@]}" >"$work/documents" || die "cleaning failed"

# A cap takes documents by their hash, so that the part kept is spread over the whole source.
cut -f 1,2,4 "$work/sources.tsv" >"$work/caps.tsv"
awk -F '\t' -v caps="$work/caps.tsv" -v cleaned="$work/cleaned.tsv" '
    BEGIN {
        while ((getline < caps) > 0) cap[$1] = $3 * 1e6
        while ((getline < cleaned) > 0) size[$1] = $3
    }
    cap[$1] && ($3 % 10000) >= 10000 * cap[$1] / size[$1] { next }
    { print $3 "\t" $2 "\t" $1 "\t" $4 }' "$work/documents" |
    sort -S 200M -T "$work" -t "$(printf '\t')" -k1,1 -k3 >"$work/mixed" || die "shuffling failed"
rm -f "$work/documents"

mkdir -p "$work/new/train" "$work/new/validation"
awk -F '\t' -v dir="$work/new" -v stat="$work/stat.txt" '
    {
        text = $4; gsub(/\001/, "\n", text); gsub(/\002/, "", text)
        letters = text; characters = length(text) - gsub(/[\200-\277]/, "", letters)
        documents[$2 " " $3]++; total[$2 " " $3] += characters + 2; words[$2 " " $3] += split(text, w, /[ \n]+/)
        if ($2 == "V") { file = dir "/validation/" $3 ".txt"; first = !(file in started); started[file] = 1 }
        else {
            if (size > 2000000 || !number) { if (number) close(file_now); file_now = sprintf("%s/train/%03d.txt", dir, number++); size = 0 }
            file = file_now; first = !size; size += length(text) + 2
        }
        printf "%s%s\n", first ? "" : "\n", text > file
    }
    END { for (k in documents) { split(k, q, " "); printf "%s\t%s\t%d\t%d\t%d\n", q[2], q[1], documents[k], words[k], total[k] > stat } }' \
    "$work/mixed" || die "writing the files failed"
awk -F '\t' '$2 == "T" { print $3 "\t" $4 }' "$work/mixed" | gzip -n1 >"$work/new/documents.gz" || die "writing the documents failed"
rm -f "$work/mixed"
[ -s "$work/new/train/000.txt" ] && ls "$work"/new/validation/*.txt >/dev/null 2>&1 || die "no text came out"
for f in "$work"/new/*/*.txt; do
    iconv -f UTF-8 -t UTF-8 "$f" >/dev/null 2>&1 || die "${f#"$work"/new/} is not valid UTF-8"
done

# --- manifest --------------------------------------------------------------
{
    printf 'Dibit base corpus\n\nText by source (documents, words, characters for training; documents for validation; kind; licence; package)\n\n'
    awk -F '\t' -v stat="$work/stat.txt" '
        BEGIN { while ((getline < stat) > 0) { d[$1 $2] = $3; w[$1 $2] = $4; c[$1 $2] = $5 } }
        { printf "%-14s %7d %9d %10d %5d  %-8s  %s; %s\n", $1, d[$1 "T"], w[$1 "T"], c[$1 "T"], d[$1 "V"], $2, $9, $5
          documents += d[$1 "T"]; words += w[$1 "T"]; characters += c[$1 "T"]; held += d[$1 "V"]; kind[$2] += c[$1 "T"] }
        END { printf "%-14s %7d %9d %10d %5d  general %.1f %%, software %.1f %%\n", "all", documents, words, characters, held,
              100 * kind["general"] / characters, 100 * kind["software"] / characters }' "$work/sources.tsv"
    printf '\nParagraphs left out (repeated, coarse, mostly signs, not English, boilerplate, fragments, too short, too long, held out elsewhere)\n\n'
    awk -F '\t' '{ printf "%-14s", $1; for (i = 4; i <= 12; i++) printf " %7d", $i; printf "\n" }' "$work/cleaned.tsv"
    printf '\nPackages (version, SHA-256)\n\n'
    sort -u "$work/packages.txt"
    printf '\nHeld-out files: %d, SHA-256 of all %s\n' "${#held_out[@]}" "$(cat "${held_out[@]}" | sha256sum | cut -d ' ' -f 1)"
    printf '\nFiles written (SHA-256, path)\n\n'
    (cd "$work/new" && sha256sum train/*.txt validation/*.txt)
} >"$work/new/MANIFEST.txt" || die "cannot write the manifest"

rm -rf "$out/train" "$out/validation" "$out/documents.gz" "$out/MANIFEST.txt"
mv "$work/new/train" "$work/new/validation" "$work/new/documents.gz" "$work/new/MANIFEST.txt" "$out/" || die "cannot move the result into $out"

awk '/^Text by/ { on = 1; next } /^Paragraphs left out/ { exit } on && NF' "$out/MANIFEST.txt"
