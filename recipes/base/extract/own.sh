# Extractors for single packages, read by corpus.sh: each is called with the text's files and writes paragraphs (see clean.pl).
# shellcheck shell=bash

# WordNet. One run gives both texts: the senses, and the documents about a subject (place N: never held out).
extract_wordnet() {
    local d=$1 f files=()
    d=${d%/*}
    for f in index.noun index.verb index.adj index.adv data.noun data.verb data.adj data.adv; do files+=("$d/$f"); done
    awk -v topics="$here/extract/topics.tsv" -f "$here/extract/wordnet.awk" "${files[@]}" >"$work/wordnet.all" || return 1
    grep -v '^N' "$work/wordnet.all"
}
extract_topics() { [ -f "$work/wordnet.all" ] || extract_wordnet "$@" >/dev/null; grep '^N' "$work/wordnet.all"; }

# inflate FILE OFFSET SIZE: one zlib stream that lies inside a file. (A gzip header takes the place of the two zlib bytes; gzip then
# only misses its own checksum at the end, which is why its complaint is ignored.)
inflate() {
    { printf '\037\213\010\000\000\000\000\000\000\003'
      tail -c +$(($2 + 3)) "$1" | head -c $(($3 - 2)); } 2>/dev/null | gzip -dc 2>/dev/null
    return 0
}

# The text lines of all character vectors in an R data file. Each record is its unpacked length (four bytes) and a zlib stream; a place
# that looks like a record counts only if it unpacks to that very length.
extract_rdata() {
    local file=$1 size at plain
    size=$(wc -c <"$file")
    while read -r at plain; do
        inflate "$file" $((at + 4)) $((size - at - 4)) >"$work/record"
        [ "$(wc -c <"$work/record")" -eq "$plain" ] || continue
        tr '\000' '\001' <"$work/record" |
            awk 'BEGIN { RS = "\001\004\001\t|\001\001\200\t|\001\004\200\t" }
                NR > 1 { s = substr($0, 5); gsub(/[\001-\010\013-\037\377]/, "", s); print s }'
        printf '\n\n'
    done < <(od -An -v -w1 -t u1 "$file" |
        awk '{ if ($1 == 156 && a == 120 && e == 0 && d + c > 0) print NR - 6, (d * 256 + c) * 256 + b
               e = d; d = c; c = b; b = a; a = $1 + 0 }') | perl "$here/extract/text.pl" --indented
}

extract_twain() { sed '1,/^CHAPTER I\r*$/d' "$1" | perl "$here/extract/text.pl"; }
extract_doyle() { sed -e '1,/^ADVENTURE I\. /d' -e '/^End of the Project Gutenberg/,$d' "$1" | perl "$here/extract/text.pl"; }

# The Devil's Dictionary: "WORD, n. text" paragraphs, verse indented.
extract_devil() {
    gzip -dcf <"$1" | sed -e '1,/^ *PREFACE/d' | tr -d '\r' |
        sed -e 's/^    \([^ ]\)/\n\1/' -e 's/_//g' | perl "$here/extract/text.pl"
}

extract_jargon() {
    gzip -dc "$1" |
        sed -e 's/\xc2\xa0/ /g' |
        awk '
        function flush(  s) {
            s = par; par = ""
            gsub(/[{}]/, "", s); gsub(/ +/, " ", s); sub(/^ /, "", s)
            sub(/^\[[^]]*\] /, "", s); gsub(/_/, "", s)
            if (s == "" || length(s) < 50 || s ~ /^\[|\xc2\xb4|\/[a-z]+\//) return
            if (word != "") { s = word ": " s; word = "" }
            print s
            length_now += length(s)
        }
        /Part II\. The Jargon Lexicon/ { on = 1; next }
        /Part III\. Appendices/ { if (on) flush(); on = 0; next }
        !on { next }
        /^   :[^:]+:/ {
            flush(); if (length_now > 1800) { print ""; length_now = 0 }
            word = $0; sub(/^   :/, "", word); sub(/:.*/, "", word); if (word ~ /[^A-Za-z0-9 .'"'"'-]/ || length(word) < 3) word = ""; next
        }
        /^ *$/ { flush(); code = 0; next }
        /^   [^ ]/ && !code { par = par " " $0; next }
        { par = ""; code = 1 }
        END { print "" }'
}

# The chemical elements; entries above number 103 are from an encyclopedia under other terms.
extract_elements() {
    gzip -dcf <"$1" |
        awk '
        function flush(  s) {
            s = text; gsub(/ +/, " ", s); sub(/^ /, "", s)
            if (n != "" && number > 0 && number <= 103 && s != "" && s !~ /[<>{}]/) {
                doc = doc (doc == "" ? "" : "\001") toupper(substr(n, 1, 1)) substr(n, 2) " is a chemical element with the symbol " symbol \
                    " and the atomic number " number ". " s
                if (++c == 4) { print "T\t" doc; doc = ""; c = 0 }
            }
            n = ""; text = ""; number = 0; symbol = ""
        }
        /^Symbol: / { n = last; symbol = $2; text = ""; next }
        /^Atomic number: / { number = $3 + 0; next }
        /^Atomic weight: / { next }
        /^ *$/ { flush(); next }
        { last = $0; if (n != "") text = text " " $0 }
        END { flush(); if (doc != "") print "T\t" doc }'
}

extract_descriptions() { gzip -dc "$1" | perl "$here/extract/descriptions.pl"; }
