#!/usr/bin/env bash
# Derives tagging examples in the form of chats from the corpus that corpus.sh made: recipes/base/tagging.sh [.build-corpus]
#
# The corpus holds short documents that begin with "Words about SUBJECT:" and go on with definitions from WordNet. Each definition,
# with or without its headword, and each run of two or three becomes a text whose topic is the subject. One text in a hundred is held
# out. The same corpus gives the same bytes.
set -euo pipefail
out=${1:-.build-corpus}
if ! compgen -G "$out/train/*.txt" >/dev/null; then
  echo "error: '$out/train' holds no corpus: run recipes/base/corpus.sh $out first" >&2
  exit 66
fi
rm -rf "$out/tagging" "$out/tagging-validation"
mkdir -p "$out/tagging" "$out/tagging-validation"

export LC_ALL=C
cat "$out"/train/*.txt | awk '
  BEGIN {
    RS = ""; FS = "\n"
    split("animals=animals;birds=animals;fish and the sea=animals;painting and art=art;cooking=cooking;food and meals=cooking;" \
      "drinks=cooking;money and banking=finance;business and trade=finance;plants and gardens=gardening;" \
      "fruit and vegetables=gardening;farming=gardening;medicine and health=health;the human body=health;law and courts=law;" \
      "music=music;astronomy and space=space;sports=sports;games and play=sports;computers=technology;" \
      "electronics and telephones=technology;travel=travel;ships and aircraft=travel;cities and countries=travel;" \
      "war and soldiers=war;religion=religion;mathematics=mathematics;chemistry=chemistry;language and grammar=language;" \
      "books and writing=books;weather=weather;clothes and fashion=fashion;politics and government=politics;" \
      "the house and its rooms=home;building and tools=building;time and the calendar=time;family and children=family;" \
      "school and study=school;dance and theatre=theatre;stones and metals=minerals;physics and energy=physics", pairs, ";")
    for (i in pairs) { split(pairs[i], pair, "="); label[pair[1]] = pair[2] }
  }
  function emit(text) {
    if (split(text, words, " ") < 5) return
    printf "<turn_start> system<n>Tag the text with its topic.<turn_end><turn_start> user<n>%s<turn_end>", text
    printf "<turn_start> assistant<n>{\"topics\":[\"%s\"]}<turn_end>\n", topic
  }
  function bare(line) { sub(/^[^:.]*: /, "", line); return toupper(substr(line, 1, 1)) substr(line, 2) }
  /^Words about [a-z ]+:/ {
    subject = $1; sub(/^Words about /, "", subject); sub(/:.*/, "", subject)
    if (!(subject in label)) next
    topic = label[subject]
    list = $1; sub(/^[^:]*: /, "", list)
    emit(toupper(substr(list, 1, 1)) substr(list, 2))
    for (i = 2; i <= NF; i++) {
      emit($i)
      emit(bare($i))
      if (i + 1 <= NF) { emit($i " " $(i + 1)); emit(bare($(i + 1)) " " bare($i)) }
      if (i + 2 <= NF) { emit(bare($i) " " bare($(i + 2)) " " bare($(i + 1))); emit($(i + 2) " " bare($i) " " $(i + 1)) }
    }
  }' | awk '{ n = 0; for (i = 1; i <= length($0); i += 7) n = (n * 31 + index("abcdefghijklmnopqrstuvwxyz ", substr($0, i, 1))) % 999983; printf "%06d\t%s\n", n, $0 }' |
  sort -u | cut -f2- > "$out/tagging/all"

# A text of the held-out part may share a definition with a training text: the loss on it says how the form is learnt, no more.
awk -v out="$out" '{ file = NR % 100 ? out "/tagging/tagging.txt" : out "/tagging-validation/tagging.txt"; print $0 "\n" > file }' "$out/tagging/all"
rm "$out/tagging/all"
echo "wrote $(grep -c turn_start "$out/tagging/tagging.txt") tagging texts to $out/tagging"
