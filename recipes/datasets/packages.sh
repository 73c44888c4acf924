#!/usr/bin/env bash
# Builds a dataset from Debian's package lists: recipes/datasets/packages.sh [OUTPUT-FOLDER [FOLDER-WITH-LISTS]]
#
# The lists (Packages and Translation-en of Debian 12, main) are fetched by apt-get into a folder of their own, .build-lists by default;
# the system's lists stay as they are, and later runs need no network. The same lists give the same bytes.
# Needs bash, perl (perl-base), and apt-get where the lists are not there yet.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-.build-packages}
lists=${2:-.build-lists}
mkdir -p "$lists" "$out"
if [ ! -s "$lists/Packages" ] || [ ! -s "$lists/Translation-en" ]; then
  command -v apt-get >/dev/null || { echo "error: apt-get not found and '$lists' holds no Packages and Translation-en" >&2; exit 69; }
  mkdir -p "$lists/apt/partial"
  sandbox=()
  [ "$(id -u)" -ne 0 ] || sandbox=(-o APT::Sandbox::User=root)
  apt-get "${sandbox[@]}" -o Dir::State::Lists="$(cd "$lists/apt" && pwd)" -o Acquire::Languages=en -qq update || true
  for name in Packages Translation-en; do
    file=$(find "$lists/apt" -name "*debian*_main_*$name*" ! -name '*-updates*' ! -name '*-security*' | sort | head -n 1)
    [ -n "$file" ] || { echo "error: apt-get brought no $name of Debian's main archive" >&2; exit 69; }
    /usr/lib/apt/apt-helper cat-file "$file" >"$lists/$name"
  done
  rm -rf "$lists/apt"
fi
perl "$here/packages.pl" "$here/packages.tsv" "$lists/Packages" "$lists/Translation-en" "$out"
