#!/usr/bin/env bash
# Build the text corpus for the small float base model.
#
#   recipes/base/corpus.sh [OUTPUT-DIRECTORY]        (default .build-corpus)
#
# Fetches a few Debian packages whose texts are in the public domain or under
# a permissive licence, turns them into plain UTF-8 English and writes
#
#   OUTPUT/packages/*.deb        the packages (kept: later runs work offline)
#   OUTPUT/train/NNN.txt         documents separated by a blank line
#   OUTPUT/validation/NNN.txt    about 1 % held out
#   OUTPUT/MANIFEST.txt          packages, licences, versions, SHA-256 sums
#
# Needs bash, coreutils, gzip, sed, awk, iconv, dpkg-deb, and apt-get when a
# package is not in OUTPUT/packages yet. The same package versions give the
# same bytes.

set -u -o pipefail
export LC_ALL=C
umask 022

die() { printf 'corpus: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
-h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) die "unknown option $1 (usage: corpus.sh [OUTPUT-DIRECTORY])" ;;
esac
[ $# -le 1 ] || die "too many arguments (usage: corpus.sh [OUTPUT-DIRECTORY])"

out=${1:-.build-corpus}
for tool in awk sed sort gzip sha256sum od iconv dpkg-deb; do
    command -v "$tool" >/dev/null 2>&1 || die "$tool not found; this recipe needs a Debian system"
done
mkdir -p "$out/packages" 2>/dev/null || die "cannot create $out/packages"
out=$(cd "$out" && pwd) || die "cannot enter the output directory"
if [ -e "$out/train" ] || [ -e "$out/validation" ]; then
    [ -f "$out/MANIFEST.txt" ] && head -n 1 "$out/MANIFEST.txt" | grep -q '^Dibit base corpus' ||
        die "$out already holds train or validation folders of another kind; choose another directory"
fi

work=$out/work
rm -rf "$work"
mkdir -p "$work/text" || die "cannot create $work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- sources ---------------------------------------------------------------
# package | licence of the text used | words the copyright file must contain
sources='wordnet-base|WordNet 3.0 licence (permissive)|Permission to use, copy, modify and distribute this software and
r-cran-janeaustenr|public domain (novels, 1811-1818), package MIT|License: MIT
r-cran-tokenizers|public domain (Moby-Dick, 1851), package MIT|License: MIT
golang-github-pierrec-lz4-dev|public domain (Twain 1876, Doyle 1892), package BSD-3-clause|License: BSD-3-clause
sword-text-web|public domain|The World English Bible is in the Public Domain
jargon-text|public domain|is in the public domain, to be freely
sqlite3-doc|public domain|License: public-domain
dict-elements|public domain|So, I place this in the public domain
miscfiles|public domain (two United States state papers only)|License: public-domain'

# The package's file in OUTPUT/packages; empty when there is none.
deb_of() { find "$out/packages" -maxdepth 1 -name "$1_*.deb" | sort -V | tail -n 1; }

fetch() {
    local name=$1 sandbox=() message
    [ -z "$(deb_of "$name")" ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "apt-get not found and $name is not in $out/packages"
    [ "$(id -u)" -ne 0 ] || sandbox=(-o APT::Sandbox::User=root)
    message=$(cd "$out/packages" && apt-get "${sandbox[@]}" -qq download "$name" 2>&1) ||
        die "apt-get could not download $name: $(printf '%s' "$message" | grep -m 1 '^[EW]:' || echo 'no reason given') (is the package list up to date?)"
    [ -n "$(deb_of "$name")" ] || die "apt-get left no file for $name in $out/packages"
}

: >"$work/packages.txt"
: >"$work/files.txt"
while IFS='|' read -r name licence proof; do
    fetch "$name"
    deb=$(deb_of "$name")
    mkdir -p "$work/$name"
    dpkg-deb -x "$deb" "$work/$name" 2>/dev/null || die "$deb cannot be unpacked; remove it and run again"
    copyright=$work/$name/usr/share/doc/$name/copyright
    [ -f "$copyright" ] || die "$name has no copyright file"
    grep -qF -- "$proof" "$copyright" ||
        die "the copyright file of $name no longer says \"$proof\"; check its licence before using it"
    version=$(dpkg-deb -f "$deb" Version) || die "$deb has no version field"
    printf '%s %s\n    licence: %s\n    sha256:  %s\n' "$name" "$version" "$licence" \
        "$(sha256sum <"$deb" | cut -d ' ' -f 1)" >>"$work/packages.txt"
done <<<"$sources"

# need PACKAGE PATH: note a source text for the manifest and print where it is.
need() {
    local path=$work/$1/$2
    [ -f "$path" ] || { printf 'corpus: %s no longer contains %s\n' "$1" "$2" >&2; return 1; }
    printf '%s  %s:/%s\n' "$(sha256sum <"$path" | cut -d ' ' -f 1)" "$1" "$2" >>"$work/files.txt"
    printf '%s\n' "$path"
}

# inflate FILE OFFSET SIZE: unpack one zlib stream that lies inside a file.
# (A gzip header replaces the two zlib bytes; gzip then only misses its own
# checksum at the end, which is why its complaint is ignored.)
inflate() {
    { printf '\037\213\010\000\000\000\000\000\000\003'
      tail -c +$(($2 + 3)) "$1" | head -c $(($3 - 2)); } 2>/dev/null | gzip -dc 2>/dev/null
    return 0
}

# Every step below writes text/NAME: one document a line, first column T or V
# (V: already chosen for validation, N: never for validation), then a tab, then
# the text with \001 for the ends of lines.

# --- WordNet ---------------------------------------------------------------
cat >"$work/wordnet.awk" <<'EOF_AWK'
function hash(s,    i, h, n) {
    h = 7919; n = length(s)
    for (i = 1; i <= n; i++) h = (h * 131 + ord[substr(s, i, 1)]) % 2147483647
    h = (h * 48271) % 2147483647
    return (h * 16807) % 2147483647
}
function trim(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
function cap(s) { return toupper(substr(s, 1, 1)) substr(s, 2) }
function article(w) {
    if (w ~ /^([aeio]|u[^nst]|un[^i]|hono|hour|heir|honest)/ && w !~ /^(one|once|eu|ew)/) return "an"
    return "a"
}
function hex(s,    i, v) {
    s = tolower(s); v = 0
    for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
    return v
}
function plural(w) {
    if (w ~ /(s|x|z|ch|sh)$/) return w "es"
    if (w ~ /[^aeiou]y$/) return substr(w, 1, length(w) - 1) "ies"
    return w "s"
}
function question(e) {
    return e ~ /^(Does|Did|Do|Can|Could|Would|Will|Are|Is|Has|Have|Was|Were|Should|Shall|May) (you|he|she|it|they|we|I|the|this|that|these|those|his|her|your|my|there|anyone) / ||
        e ~ /^(What|Who|Where|Why|How|When) (is|are|was|were|does|did|do|can|will|would|much|many|long|far|old) /
}
# Definition and example sentences out of a gloss.
function readgloss(id, g,    p, rest, q, e, all, n) {
    gsub(/`/, "'", g); gsub(/_/, " ", g)
    gsub(/''/, "\"", g)
    gsub(/ ?-- ?/, " - ", g)
    p = index(g, "\"")
    if (p == 1) { def[id] = ""; rest = g }
    else if (p == 0) { def[id] = g; rest = "" }
    else if (substr(g, p - 1, 1) == " " && substr(g, 1, p - 1) !~ /[;:,.)] *$/) {
        # a quotation inside the definition itself
        gsub(/"/, "", g); sub(/;.*/, "", g); def[id] = g; rest = ""
    } else { def[id] = substr(g, 1, p - 1); rest = substr(g, p) }
    g = trim(def[id])
    while (g ~ /[;:,. -]$/) g = substr(g, 1, length(g) - 1)
    gsub(/ ;/, ";", g); gsub(/ ,/, ",", g); gsub(/\( /, "(", g); gsub(/ \)/, ")", g)
    gsub(/;;+/, ";", g); gsub(/,,+/, ",", g)
    if (substr(id, 1, 1) == "v") sub(/^to /, "", g)
    e = g; p = gsub(/\(/, "", e); e = g; q = gsub(/\)/, "", e)
    if (p != q) gsub(/[()]/, "", g)
    def[id] = g
    all = ""; n = 0
    while (n < 4 && match(rest, /"[^"]+"/)) {
        e = trim(substr(rest, RSTART + 1, RLENGTH - 2))
        rest = substr(rest, RSTART + RLENGTH)
        sub(/[ ,;:]+$/, "", e); sub(/^[ .,;:-]+/, "", e)
        gsub(/ ,/, ",", e)
        if (length(e) < 8 || e !~ / / || e ~ /[()\[\]_*=<>]/ || e ~ /\.\.\./) continue
        e = cap(e)
        if (e !~ /[.!?]$/) e = e (question(e) ? "?" : ".")
        all = all " " e
        n++
    }
    exs[id] = substr(all, 2)
}
function bad(g) {
    return g ~ /(ethnic|racial) slur|obscen|offensive (term|name|word|terms|names)|offensive|derogat|disparag|vulgar|pejorat|taboo|sexual|prostitut|genital|masturbat|orgasm|erotic|copulat/
}
function taxon(g, w) {
    if (w ~ /^(genus|family|order|class|subfamily|suborder|subclass|superfamily|superclass|superorder|phylum|subphylum|kingdom|division|tribe|section|species) [A-Z]/) return 1
    return g ~ /^(type |a |an |the |large |small |one |widespread |monotypic |cosmopolitan |tropical |fossil |extinct )*(taxonomic )?(genus|genera|family|order|class|suborder|subfamily|phylum|subclass|superfamily|subgenus) (of|containing|comprising|including|consisting|for|in)/ ||
        g ~ /^(type genus|coextensive with|in some classifications|used in some classifications|in former classifications|alternative (name|names|family))/ ||
        g ~ /genus of the (family|order|class)/
}
# One line for a synset.
function line(id,    n, w, a, b, g, h, lx, i, s, others, k) {
    if (id in cache) return cache[id]
    n = split(words[id], w, "\t"); g = def[id]; lx = lex[id]; h = hash("style" id)
    others = ""; k = 0
    for (i = 2; i <= n && k < 3; i++) {
        if ((lx == "05" || lx == "20") && w[i] ~ /^[A-Z][a-z]+ [a-z]+$/) continue
        if (tolower(w[i]) == tolower(w[1])) continue
        others = others ", " w[i]; k++
    }
    b = others; sub(/^, /, "", b)
    if (pos[id] == "n" && g ~ /^an? [a-z]/ && w[1] !~ /[A-Z0-9]/ && w[1] !~ /[^s]s$/ && w[1] !~ /(ware|clothing|equipment|cloth|paper|gear|ing)$/ &&
        (lx == "05" || lx == "06" || lx == "18" || lx == "20") && h % 2)
        s = cap(article(w[1])) " " w[1] (b != "" ? " (" b ")" : "") " is " g
    else if (pos[id] == "n" && lx == "15" && w[1] ~ /^[A-Z]/ && g ~ /^(an?|the) / && w[1] !~ /s$/)
        s = w[1] (b != "" ? " (" b ")" : "") " is " g
    else if (pos[id] == "v" && g ~ /^[a-z]+ / && g !~ /;/ && h % 2)
        s = "To " w[1] (b != "" ? " (" b ")" : "") " is to " g
    else s = w[1] others ": " g
    s = s "."
    if (exs[id] != "") s = s " " exs[id]
    cache[id] = s
    return s
}
function name1(id,    w) { split(words[id], w, "\t"); return w[1] }
# Names of a list of synsets, "a, b, c and d"; at most max of them.
function names(list, max,    m, a, i, s, c, seen, w) {
    m = split(list, a, " "); s = ""; c = 0; lastname = ""
    for (i = 1; i <= m && c < max; i++) {
        if (!(a[i] in words) || skip[a[i]]) continue
        w = name1(a[i])
        if (w in seen) continue
        seen[w] = 1
        if (c) s = s (c > 1 ? ", " : "") lastname
        lastname = w; c++
    }
    namecount = c
    if (c == 0) return ""
    if (c == 1) return lastname
    return s " and " lastname
}
function out(tag, s) { if (s != "") print tag "\t" s }
function add(doc, s) { return doc == "" ? s : doc "\001" s }
# The document of a hypernym: what kinds there are and what each of them is.
function family(H,    m, a, i, j, k, n, doc, part, ids, list, x, q, r, c, head, tag) {
    n = 0; list = ""
    m = split(kids[H], a, " ")
    for (i = 1; i <= m; i++) {
        if (skip[a[i]] || done[a[i]]) continue
        n++; part[n] = a[i]; done[a[i]] = 1
        if (nk[a[i]] && nk[a[i]] <= 2) {      # small families stay with the parent
            r = split(kids[a[i]], q, " ")
            for (j = 1; j <= r; j++) if (!skip[q[j]] && !done[q[j]]) { n++; part[n] = q[j]; done[q[j]] = 1 }
        }
    }
    if (!n) return
    for (i = 1; i <= n; i += 9) {
        doc = ""; list = ""; ids = ""
        tag = (hash("held" H i) % 100 == 0) ? "V" : "T"
        for (j = i; j < i + 9 && j <= n; j++) { ids = ids " " part[j]; if (hyper[part[j]] == H && !inst[part[j]]) list = list " " part[j] }
        x = names(list, 12)
        head = (H in words) ? name1(H) : ""
        if (namecount >= 2 && head != "" && !skip[H]) {
            c = hash("head" H i) % 3
            if (pos[H] == "n") doc = (c == 0 ? "Kinds of " head ": " x "." : c == 1 ? cap(x) " are kinds of " head "." : "Some " plural(head) ": " x ".")
            else if (pos[H] == "v") doc = (c == 0 ? "Ways to " head ": " x "." : "To " head " may be to " orlist(x) ".")
        }
        for (j = i; j < i + 9 && j <= n; j++) { doc = add(doc, line(part[j])); if (tag == "V") held[part[j]] = 1 }
        out(tag, doc)
    }
}
function orlist(x) { sub(/ and [^,]*$/, "\002&", x); sub(/\002 and /, " or ", x); return x }
# Everything below a synset.
function below(H, depth,    m, a, i) {
    if (depth > 14 || (H in visited)) return
    visited[H] = 1
    found[H] = 1
    if (H in dom) { m = split(dom[H], a, " "); for (i = 1; i <= m; i++) found[a[i]] = 1 }
    m = split(kids[H], a, " ")
    for (i = 1; i <= m; i++) below(a[i], depth + 1)
}
function topic(title, spec,    m, r, i, n, k, t, id, o, ids, key, a, s, doc, c, list, j, p, lim) {
    for (id in found) delete found[id]
    for (id in visited) delete visited[id]
    m = split(spec, r, " ")
    for (i = 1; i <= m; i++) {
        if (split(r[i], t, "#") == 2) {
            k = split(senses[t[1]], o, " ")
            if (t[2] > k) { print "corpus: no sense " r[i] " in WordNet" > "/dev/stderr"; failed = 1; continue }
            below("n" o[t[2]], 0)
        } else if (split(r[i], t, "=") == 2) {          # lex=NN: a whole lexicographer file
            for (id in lex) if (lex[id] == t[2]) found[id] = 1
        } else {                                        # a subject, with its branches
            k = split(senses[r[i]], o, " ")
            for (j = 1; j <= k; j++) if (("n" o[j]) in dom) below("n" o[j], 0)
        }
    }
    # The more usual words first, then in an order given by the hash.
    n = 0
    for (id in found) {
        if (!(id in words) || skip[id] || held[id] || def[id] == "") continue
        if ((lex[id] == "20" || lex[id] == "05") && name1(id) ~ /^[A-Z]/) continue
        n++
        ids[n] = sprintf("%d%010d%s", 2 - common[id], hash(title id), id)
    }
    heap(ids, n)
    lim = n < 800 ? n : 800
    for (i = 1; i <= lim; i++) { ids[i] = substr(ids[i], 12); ids[i] = sprintf("%010d%s", hash("mix" title ids[i]), ids[i]) }
    heap(ids, lim)
    c = 0
    for (i = 1; i <= lim; i += 7) {
        list = ""; doc = ""
        for (j = i; j < i + 7 && j <= lim; j++) list = list " " substr(ids[j], 11)
        s = names(list, 12)
        if (namecount < 3) continue
        p = c++ % 4
        if (p == 0) doc = "Words about " title ": " s "."
        else if (p == 1) doc = cap(title) "."
        else if (p == 2) doc = "Topic: " title "."
        else doc = cap(s) " belong to the topic " title "."
        for (j = i; j < i + 7 && j <= lim; j++) doc = add(doc, line(substr(ids[j], 11)))
        out("N", doc)
    }
    # A second, shorter round with only the usual words: lists and examples.
    k = 0
    for (i = 1; i <= lim; i++) if (common[substr(ids[i], 11)] && k < 500) { k++; key[k] = sprintf("%010d%s", hash("again" title ids[i]), substr(ids[i], 11)) }
    heap(key, k)
    for (i = 1; i + 4 <= k; i += 10) {
        list = ""; doc = ""
        for (j = i; j < i + 10 && j <= k; j++) list = list " " substr(key[j], 11)
        s = names(list, 12)
        doc = (i % 20 == 1) ? cap(title) ": " s "." : cap(s) " are words one meets in " title "."
        t[0] = ""
        for (j = i; j < i + 10 && j <= k; j++) { a = exs[substr(key[j], 11)]; if (a != "") t[0] = t[0] (t[0] == "" ? "" : " ") a }
        if (t[0] != "") doc = add(doc, t[0])
        out("N", doc)
    }
}
# Heap sort of strings, so that no particular awk is needed.
function heap(a, n,    i, t, e) {
    for (i = int(n / 2); i >= 1; i--) sift(a, i, n)
    for (e = n; e > 1; e--) { t = a[1]; a[1] = a[e]; a[e] = t; sift(a, 1, e - 1) }
}
function sift(a, i, n,    c, t) {
    t = a[i]
    while ((c = 2 * i) <= n) {
        if (c < n && (a[c + 1] "") > (a[c] "")) c++
        if ((a[c] "") <= (t "")) break
        a[i] = a[c]; i = c
    }
    a[i] = t
}
BEGIN { for (i = 1; i < 256; i++) ord[sprintf("%c", i)] = i; total = 0 }
FILENAME ~ /index\.noun$/ {
    if ($0 ~ /^[a-z0-9'.\/_-]/ && $1 !~ /^ /) {
        s = ""
        for (i = NF - $3 + 1; i <= NF; i++) s = s " " $i
        senses[$1] = substr(s, 2)
        tagged = $(NF - $3)
        for (i = 1; i <= tagged; i++) used["n" $(NF - $3 + i)] = 1
    }
    next
}
FILENAME ~ /index\.(verb|adj|adv)$/ {
    if ($0 !~ /^ /) { tagged = $(NF - $3); p = FILENAME ~ /verb$/ ? "v" : FILENAME ~ /adj$/ ? "a" : "r"; for (i = 1; i <= tagged; i++) used[p $(NF - $3 + i)] = 1 }
    next
}
/^[0-9]/ {
    bar = index($0, " | ")
    if (!bar) next
    gloss = trim(substr($0, bar + 3))
    n = split(substr($0, 1, bar - 1), f, " ")
    p = f[3] == "s" ? "a" : f[3]
    id = p f[1]
    pos[id] = p; lex[id] = f[2]
    nw = hex(f[4]); s = ""
    for (i = 0; i < nw; i++) {
        w = f[5 + 2 * i]
        sub(/\((a|p|ip)\)$/, "", w); gsub(/_/, " ", w)
        s = s (i ? "\t" : "") w
    }
    words[id] = s
    readgloss(id, gloss)
    first = s; sub(/\t.*/, "", first)
    if (def[id] == "" || bad(gloss) || taxon(def[id], first) || bad(s)) skip[id] = 1
    at = 5 + 2 * nw; np = f[at] + 0
    for (i = 0; i < np; i++) {
        sym = f[at + 1 + 4 * i]; o = f[at + 2 + 4 * i]; q = f[at + 3 + 4 * i]; st = f[at + 4 + 4 * i]
        if (q == "s") q = "a"
        t = q o
        if ((sym == "@" || sym == "@i") && hyper[id] == "") { hyper[id] = t; if (sym == "@i") inst[id] = 1 }
        else if (sym == "&" && f[3] == "s" && hyper[id] == "") hyper[id] = t
        else if (sym == ";c") dom[t] = dom[t] " " id
        else if (sym == "%p") parts[id] = parts[id] " " t
        else if (sym == "!" && id < t && (p == "a" || p == "n" || p == "v")) { na++; anta[na] = id; antb[na] = t; antw[na] = st }
    }
    if (hyper[id] != "") { kids[hyper[id]] = kids[hyper[id]] " " id; if (!skip[id]) nk[hyper[id]]++ }
    total++
    order[total] = id
    next
}
END {
    for (id in used) common[id] = 1
    # Rare species fill a third of the nouns; keep two in five of them.
    for (i = 1; i <= total; i++) {
        id = order[i]
        if ((lex[id] == "05" || lex[id] == "20") && !common[id] && hash("rare" id) % 5 > 1) { if (!skip[id]) nk[hyper[id]]--; skip[id] = 1 }
    }
    # 1. every synset once, with its family
    for (i = 1; i <= total; i++) {
        id = order[i]
        if (nk[id] > 2 || (nk[id] && hyper[id] == "")) {
            if (pos[id] == "a" && !skip[id] && !done[id]) {      # the head of an adjective cluster leads it
                kids[id] = " " id kids[id]; nk[id]++
            }
            family(id)
        }
    }
    # 2. what is left, in the order of the files (neighbours are related)
    doc = ""; c = 0; start = ""
    for (i = 1; i <= total; i++) {
        id = order[i]
        if (skip[id] || done[id]) continue
        if (c && (lex[id] != lastlex || c >= 9)) { flush() }
        lastlex = lex[id]; done[id] = 1; c++; group[c] = id
        if (c == 1) start = id
    }
    flush()
    # 3. parts and opposites
    c = 0; doc = ""
    for (i = 1; i <= total; i++) {
        id = order[i]
        if (!(id in parts) || skip[id] || held[id]) continue
        s = names(parts[id], 12)
        if (namecount < 2) continue
        w = name1(id)
        doc = add(doc, (w ~ /^[A-Z]/ ? "In or of " w : (hash(id) % 2 ? "Parts of " article(w) " " w : cap(article(w)) " " w " has")) (w ~ /^[A-Z]/ || !(hash(id) % 2) ? ": " : " are ") s ".")
        if (++c == 8) { out("N", doc); doc = ""; c = 0 }
    }
    out("N", doc)
    c = 0; doc = ""
    for (i = 1; i <= na; i++) {
        if (skip[anta[i]] || skip[antb[i]]) continue
        split(words[anta[i]], wa, "\t"); split(words[antb[i]], wb, "\t")
        a = wa[hex(substr(antw[i], 1, 2))]; b = wb[hex(substr(antw[i], 3, 2))]
        if (a == "" || b == "") continue
        s = "The opposite of " (pos[anta[i]] == "v" ? "to " a " is to " b : a " is " b) "."
        if (s in seen2) continue
        seen2[s] = 1
        doc = doc (doc == "" ? "" : " ") s
        if (++c == 8) { out("N", doc); doc = ""; c = 0 }
    }
    out("N", doc)
    # 4. whole sentences of everyday English, verbs of one family together
    c = 0; doc = ""
    for (i = 1; i <= total; i++) {
        id = order[i]
        if (pos[id] != "v" || skip[id] || held[id] || exs[id] == "") continue
        if (exs[id] !~ /^[A-Z][a-z']* [^.!?]* [^.!?]* [^.!?]*[.!?]/) continue
        if (exs[id] !~ /^(The|She|He|I|We|They|You|My|His|Her|Our|This|These|A|An|It|Your|Their|Don't|Please|Can|Do|Did|If|When|What|How|That|Who|Where|Is|Are|There) /) continue
        doc = doc (doc == "" ? "" : " ") exs[id]
        if (++c == 10) { out("N", doc); doc = ""; c = 0 }
    }
    out("N", doc)
    # 5. topics
    while ((getline spec < topics) > 0) {
        if (spec ~ /^ *(#|$)/) continue
        split(spec, tt, "|")
        topic(tt[1], tt[2])
    }
    if (failed) exit 1
}
function flush(    j, tag) {
    doc = ""
    tag = (hash("held" start) % 100 == 0) ? "V" : "T"
    for (j = 1; j <= c; j++) { doc = add(doc, line(group[j])); if (tag == "V") held[group[j]] = 1 }
    out(tag, doc); c = 0
}
EOF_AWK

# Topics: a title and where its words are found. "word#n" is the n-th noun
# sense and all below it; a bare word is a subject of WordNet's own marking,
# with its branches; "lex=NN" is a lexicographer file.
cat >"$work/topics" <<'EOF_TOPICS'
sports|sport#1 athlete#1 sports_equipment#1 sport football golf baseball tennis lex=33
games and play|game#3 card_game#1 toy#1 game_equipment#1 chess card_game
cooking|cooking dish#2 kitchen_utensil#1 cookware#1 cooking#1 herb#2 cook#1
food and meals|food#2 meal#1 lex=34
drinks|beverage#1
fruit and vegetables|edible_fruit#1 vegetable#1
music|music music#1 musical_instrument#1 musician#1 musical_composition#1 singer#1
dance and theatre|dance dancing#1 performing_arts play#1 actor#1 theater
medicine and health|medicine medicine#2 disease#1 symptom#1 doctor#1 hospital#1 medical_procedure#1 nurse#1 pathology lex=29
the human body|body_part#1 anatomy
the mind and feelings|feeling#1 psychology lex=37 lex=12
law and courts|law lawyer#1 legal_document#1 court#1 crime#1 crime
astronomy and space|astronomy celestial_body#1 astronomer#1 spacecraft#1 constellation#2
money and banking|money#1 bank#2 tax#1 finance currency#1 payment#1 banker#1 monetary_unit#1
business and trade|commerce business#1 merchandise#1 company#1 businessperson#1 shop#1
computers|computer_science computer#1 software#1 computer_user#1 peripheral#1 programming_language#1
electronics and telephones|electronics electronic_equipment#1 telephone#1 telecommunication
plants and gardens|plant garden#1 tree#1 flower#1 shrub#1 gardener#2 botany
animals|animal#1 zoology
birds|bird#1
fish and the sea|fish#1 shellfish#2 body_of_water#1
dogs, cats and farm animals|dog#1 domestic_cat#1 horse#1 cattle#1 domestic_animal#1 sheep#1
farming|farm#1 farmer#1 farm_machine#1 crop#2 agriculture
travel|travel#1 traveler#1 hotel#1 trip#1 journey#1 passenger#1 luggage#1 seafaring
cars, trains and roads|motor_vehicle#1 road#1 train#1 wheeled_vehicle#1 driver#1
ships and aircraft|ship#1 boat#1 aircraft#1 air_travel sailor#1
cities and countries|city#1 country#2
mountains, rivers and land|geological_formation#1 mountain#1 river#1 land#4
weather|weather#1 wind#1 storm#1 precipitation#3 cloud#2 lex=43 meteorology
painting and art|art painting#1 artist#1 sculpture#1 photography drawing#2 visual_communication#1
books and writing|book#1 writer#1 literary_composition#1 literature poem#1 printing
film, radio and news|movie#1 broadcast#2 newspaper#1 press#2 broadcasting journalist#1
school and study|school#1 teacher#1 student#1 educational_institution#1 classroom#1 course_of_study#1 education#1
language and grammar|grammar linguistics language#1 word#1
mathematics|mathematics statistics number#2 shape#2 mathematician#1
physics and energy|physics energy#1 electricity#1 fuel#1 optics
chemistry|chemistry chemical_element#1 chemist#1 compound#2
science and research|scientist#1 biology genetics scientific_instrument#1 laboratory#1
stones and metals|rock#2 metal#1 mineral#1 jewel#1 geology
clothes and fashion|garment#1 footwear#1 fabric#1 hat#1 jewelry#1
the house and its rooms|furniture#1 room#1 house#1 home_appliance#1 door#1 window#1
building and tools|building#1 tool#1 building_material#1 builder#1 architecture
family and children|relative#1 child#1 parent#1 spouse#1 wedding#1 baby#1
work and jobs|worker#1 occupation#1 skilled_worker#1
politics and government|government#1 politician#1 election#1 political_party#1 politics legislature#1
war and soldiers|military soldier#1 weapon#1 battle#1
religion|religion clergyman#1 church#2 deity#1 prayer#1 Christianity
old stories and myths|Greek_mythology Roman_mythology Norse_mythology imaginary_being#1
time and the calendar|time_period#1 day_of_the_week#1 holiday#2 calendar_month#1 timepiece#1
talk and conversation|lex=32 conversation#1 greeting#1
going and moving|lex=38
seeing and hearing|lex=39 sensation#1 color#1 sound#1
hands at work|lex=35 lex=36
EOF_TOPICS

step_wordnet() {
    local d=usr/share/wordnet files=() f p
    for f in index.noun index.verb index.adj index.adv data.noun data.verb data.adj data.adv; do
        p=$(need wordnet-base $d/$f) || return 1
        files+=("$p")
    done
    awk -v topics="$work/topics" -f "$work/wordnet.awk" "${files[@]}" >"$work/wordnet.all" || return 1
    grep -v '^N' "$work/wordnet.all" >"$work/text/wordnet" || return 1
    grep '^N' "$work/wordnet.all" >"$work/text/topics"
}

# --- prose -----------------------------------------------------------------
# Paragraphs (blank line between) to documents of about 1,200 bytes.
cat >"$work/prose.awk" <<'EOF_AWK'
function flush(  s) {
    s = par; par = ""
    gsub(/[ \t\r]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s)
    gsub(/_/, "", s)
    gsub(/ ?--+ ?/, " - ", s)
    if (s == "") return
    if (s !~ /[a-z]/ || s !~ /[.!?:;,"')-]$/ || s ~ /[<>{}|\\@=]|https?:|www\.|Gutenberg|[0-9][0-9]+\/[0-9]/) return
    if (s ~ /^(CHAPTER|Chapter|VOLUME|BOOK) /) { if (doc != "") emit(); return }
    if (s ~ /^\[/) return
    doc = doc (doc == "" ? "" : "\001") s
    if (length(doc) >= 1200) emit()
}
function emit() { print "T\t" doc; doc = "" }
{ sub(/\r$/, "") }
/^[ \t]*$/ { flush(); next }
/^CHAPTER / { flush(); par = $0; flush(); next }
{ par = par " " $0 }
END { flush(); if (doc != "") emit() }
EOF_AWK

# rdata FILE: the text lines of all character vectors in an R data file. Each
# record is its unpacked length (four bytes) and a zlib stream; a place that
# looks like a record counts only if it unpacks to that very length.
rdata() {
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
               e = d; d = c; c = b; b = a; a = $1 + 0 }')
}

step_austen() {
    local f
    f=$(need r-cran-janeaustenr usr/lib/R/site-library/janeaustenr/data/Rdata.rdb) || return 1
    rdata "$f" | awk -f "$work/prose.awk" >"$work/text/austen"
}
step_mobydick() {
    local f
    f=$(need r-cran-tokenizers usr/lib/R/site-library/tokenizers/data/Rdata.rdb) || return 1
    rdata "$f" | awk -f "$work/prose.awk" >"$work/text/mobydick"
}
step_twain() {
    local f
    f=$(need golang-github-pierrec-lz4-dev usr/share/gocode/src/github.com/pierrec/lz4/testdata/Mark.Twain-Tom.Sawyer.txt) || return 1
    sed '1,/^CHAPTER I\r*$/d' "$f" | awk -f "$work/prose.awk" >"$work/text/twain"
}
step_doyle() {
    local f
    f=$(need golang-github-pierrec-lz4-dev usr/share/gocode/src/github.com/pierrec/lz4/testdata/pg1661.txt) || return 1
    sed -e '1,/^ADVENTURE I\. /d' -e '/^End of the Project Gutenberg/,$d' "$f" |
        awk -f "$work/prose.awk" >"$work/text/doyle"
}

# The World English Bible in present-day English: a zText module, one zlib
# block a book; twelve-byte entries (offset, size, unpacked size).
step_bible() {
    local d=usr/share/sword/modules/texts/ztext/engWEB2015eb part offset size plain index data
    : >"$work/bible.txt"
    for part in ot nt; do
        index=$(need sword-text-web $d/$part.bzs) && data=$(need sword-text-web $d/$part.bzz) || return 1
        while read -r offset size plain; do
            [ "${plain:-0}" -gt 20000 ] || continue
            inflate "$data" "$offset" "$size"
            printf '\n\n'
        done < <(od -An -v -t u4 -w12 "$index")
    done | tr '\r\n' '  ' |
        sed -e 's/<note[ >]/\n&/g' -e 's/<title[ >]/\n&/g' |
        sed -e 's/^<note[ >].*<\/note>//' -e 's/^<title[ >].*<\/title>//' |
        tr -d '\n' |
        sed -e 's/<div [^>]*type="x-p"[^>]*>/\n\n/g' -e 's/<chapter[^>]*>/\n\n/g' -e 's/<l [^>]*>\|<lb[^>]*>/ /g' \
            -e 's/<[^>]*>//g' |
        sed -e 's/  */ /g' -e 's/ \([,.;:!?]\)/\1/g' -e 's/\xe2\x80\x9c\|\xe2\x80\x9d/"/g' -e "s/\xe2\x80\x98\|\xe2\x80\x99/'/g" \
            -e 's/&amp;/\&/g' >"$work/bible.txt"
    awk -f "$work/prose.awk" "$work/bible.txt" >"$work/text/bible"
}

step_jargon() {
    local f
    f=$(need jargon-text usr/share/doc/jargon-text/jargon.txt.gz) || return 1
    gzip -dc "$f" |
        sed -e 's/\xe2\x80\x9c\|\xe2\x80\x9d/"/g' -e "s/\xe2\x80\x98\|\xe2\x80\x99/'/g" \
            -e 's/\xc2\xa0/ /g' -e 's/\xe2\x80\x94/ - /g' -e 's/\xe2\x80\x93/-/g' -e 's/\xe2\x80\xa6/.../g' |
        awk '
        function flush(  s) {
            s = par; par = ""
            gsub(/[{}]/, "", s); gsub(/ +/, " ", s); sub(/^ /, "", s)
            sub(/^\[[^]]*\] /, "", s); gsub(/_/, "", s)
            if (s == "" || s !~ /[.!?"]$/ || length(s) < 50 || s ~ /^\[|[<>|\\@=*#`]|\xc2\xb4|https?:|www\.|ftp:|alt\.|\/[a-z]+\//) { return }
            if (word != "") { s = word ": " s; word = "" }
            doc = doc (doc == "" ? "" : "\001") s
            if (length(doc) >= 1100) { print "T\t" doc; doc = "" }
        }
        /Part II\. The Jargon Lexicon/ { on = 1; next }
        /Part III\. Appendices/ { if (on) flush(); on = 0; next }
        !on { next }
        /^   :[^:]+:/ { flush(); word = $0; sub(/^   :/, "", word); sub(/:.*/, "", word); if (word ~ /[^A-Za-z0-9 .'"'"'-]/ || length(word) < 3) word = ""; next }
        /^ *$/ { flush(); code = 0; next }
        /^   [^ ]/ && !code { par = par " " $0; next }
        { par = ""; code = 1 }
        END { if (doc != "") print "T\t" doc }' >"$work/text/jargon"
}

step_sqlite() {
    local d=usr/share/doc/sqlite3 f p
    for f in "$work/sqlite3-doc/$d"/*.html; do
        [ -f "$f" ] || { printf 'corpus: sqlite3-doc no longer contains /%s\n' "$d" >&2; return 1; }
        case ${f##*/} in
        changes.html | *crossref* | keyword_index.html | news.html | oldnews.html | requirements.html | chronology.html | \
            sitemap.html | doclist.html | *idx.html | index.html | download.html | cves.html | codeofethics.html | copyright* | crew.html | \
            consortium* | pressrelease* | prosupport.html | support.html | books.html | hp1.html | fileformat.html | formatchng.html) continue ;;
        esac
        p=$(need sqlite3-doc "$d/${f##*/}") || return 1
        printf '\n\n'
        sed -e 's/\r$//' "$p"
    done | awk '
        /<script|<style|<pre|<svg|<table|class="codeblock"|<blockquote/ { off = 1 }
        { if (!off) print; else print "" }
        /<\/script>|<\/style>|<\/pre>|<\/svg>|<\/table>|<\/blockquote>/ { off = 0 }
        /<\/html>/ { off = 0 }' |
        sed -e 's/<\/*\(p\|li\|h[1-6]\|ul\|ol\|dl\|dt\|dd\|div\|hr\|html\|body\|head\|title\)\b[^>]*>/\n\n/g' |
        tr '\n' '\002' | sed -e 's/<[^>]*>//g' | tr '\002' '\n' |
        sed -e 's/&quot;/"/g' -e "s/&#39;/'/g" -e 's/&nbsp;/ /g' -e 's/&lt;/</g' -e 's/&gt;/>/g' -e 's/&mdash;/ - /g' -e 's/&[a-z0-9#]*;/|/g' -e 's/\xc2\xa0/ /g' -e 's/&amp;/\&/g' |
        awk 'function flush() { gsub(/[ \t]+/, " ", par); sub(/^ /, "", par); sub(/ $/, "", par)
                 if (length(par) >= 60 && par ~ /^[A-Z"].*[.!?]$/ && par !~ /[A-Za-z0-9]_[A-Za-z]|\(\)|:$/) { print par; print "" }
                 par = "" }
             /^[ \t]*$/ { flush(); next } { par = par " " $0 } END { flush() }' |
        awk -f "$work/prose.awk" >"$work/text/sqlite"
}

step_elements() {
    local f
    f=$(need dict-elements usr/share/dictd/elements.dict.dz) || return 1
    gzip -dcf <"$f" |
        awk '
        function flush(  s) {
            s = text; gsub(/ +/, " ", s); sub(/^ /, "", s)
            if (n != "" && number > 0 && number <= 103 && s != "" && s !~ /[<>{}]/)
                line = toupper(substr(n, 1, 1)) substr(n, 2) " is a chemical element with the symbol " symbol " and the atomic number " number ". " s
            else line = ""
            if (line != "") { doc = doc (doc == "" ? "" : "\001") line; if (++c == 4) { print "T\t" doc; doc = ""; c = 0 } }
            n = ""; text = ""; number = 0; symbol = ""
        }
        /^Symbol: / { n = last; symbol = $2; text = ""; next }
        /^Atomic number: / { number = $3 + 0; next }
        /^Atomic weight: / { next }
        /^ *$/ { flush(); next }
        { last = $0; if (n != "") text = text " " $0 }
        END { flush(); if (doc != "") print "T\t" doc }' >"$work/text/elements"
}

step_state() {
    local f
    for f in us-declaration us-constitution; do
        f=$(need miscfiles usr/share/state/$f.gz) || return 1
        gzip -dc "$f" | awk -f "$work/prose.awk"
    done >"$work/text/state"
}

for step in wordnet austen mobydick twain doyle bible jargon sqlite elements state; do
    "step_$step" || die "the $step text could not be made (see above)"
    [ -s "$work/text/$step" ] || die "the $step text came out empty; its package has changed"
done

# --- clean, cap, split, shuffle --------------------------------------------
# How many bytes of a source may enter (0: all). The old novels and the
# technical texts are kept small so that everyday words prevail.
caps='wordnet 0
topics 0
austen 1400000
mobydick 500000
twain 0
doyle 0
bible 600000
jargon 900000
sqlite 900000
elements 0
state 0'

cat >"$work/clean.awk" <<'EOF_AWK'
# Cleans the lines of each document, drops repeated lines, adds sort keys:
# cap key, order key, place (T or V), source, text.
function hash(s,    i, h, n) {
    h = 104729; n = length(s)
    if (n > 400) { s = substr(s, 1, 300) substr(s, n - 99) n; n = length(s) }
    for (i = 1; i <= n; i++) h = (h * 131 + ord[substr(s, i, 1)]) % 2147483647
    return (h * 48271) % 2147483647
}
BEGIN { FS = "\t"; for (i = 1; i < 256; i++) ord[sprintf("%c", i)] = i }
{
    n = split($3, l, "\001"); doc = ""; kept = 0
    for (i = 1; i <= n; i++) {
        s = l[i]
        gsub(/\xe2\x80[\x9c\x9d]/, "\"", s); gsub(/\xe2\x80[\x98\x99]/, "'", s)
        gsub(/\xe2\x80[\x93\x94]/, "-", s)
        gsub(/[\001-\037\177]/, " ", s); gsub(/  +/, " ", s)
        sub(/^ /, "", s); sub(/ $/, "", s)
        low = tolower(s)
        if (low ~ /(^|[^a-z])(fuck|shit|cunt|nigger|niggers|injun|faggot|bitch|whore|harlot|slut|asshole|bastard|darkey|darkies|dildo|porn|pussy|tits|arse|turd|piss|wank)/) continue
        if (low ~ /sexual intercourse|masturbat|orgasm|copulat|erotic|pornograph|fornicat|prostitut|concubine|foreskin/) continue
        if (length(s) < 3) continue
        # English prose: mostly letters, hardly any bytes beyond ASCII
        t = s; letters = gsub(/[A-Za-z ]/, "", t)
        if (letters < 0.8 * length(s)) continue
        t = s; if (gsub(/[\200-\377]/, "", t) > 0.03 * length(s)) continue
        if ($1 != "topics" && length(s) >= 30) { if (s in seen) continue; seen[s] = 1 }
        doc = doc (doc == "" ? "" : "\001") s; kept++
    }
    if (length(doc) < 60) next
    h = hash(doc); o = (h * 16807) % 2147483647; v = (o * 69621) % 2147483647
    place = $2 == "V" ? "V" : "T"
    if ($1 != "wordnet" && $2 == "T" && v % 100 == 0) place = "V"
    printf "%s\t%010d\t%010d\t%s\t%s\n", $1, h, o, place, doc
}
EOF_AWK

while read -r name limit; do
    awk -v n="$name" '{ print n "\t" $0 }' "$work/text/$name"
done <<<"$caps" | awk -f "$work/clean.awk" >"$work/clean.txt" || die "cleaning failed"

sort -t "$(printf '\t')" -k1,1 -k2,2 -k5 "$work/clean.txt" |
    awk -F '\t' -v caps="$caps" '
        BEGIN { n = split(caps, c, "\n"); for (i = 1; i <= n; i++) { split(c[i], p, " "); max[p[1]] = p[2] } }
        { if (max[$1] && bytes[$1] + length($5) > max[$1]) next
          bytes[$1] += length($5) + 2
          print $3 "\t" $4 "\t" $1 "\t" $5 }' |
    sort -t "$(printf '\t')" -k1,1 -k4 >"$work/mixed.txt" || die "shuffling failed"

rm -rf "$work/new"
mkdir -p "$work/new/train" "$work/new/validation"
awk -F '\t' -v dir="$work/new" -v stat="$work/stat.txt" '
    {
        d = $2 == "V" ? "validation" : "train"
        text = $4; lines = gsub(/\001/, "\n", text)
        if (!(d in file) || size[d] >= 200000) {
            if (d in file) close(file[d])
            file[d] = sprintf("%s/%s/%03d.txt", dir, d, number[d]++); size[d] = 0
        }
        printf "%s%s\n", (size[d] ? "\n" : ""), text > file[d]
        size[d] += length(text) + (size[d] ? 2 : 1)
        docs[d " " $3]++; bytes[d " " $3] += length(text) + 2; wordcount[d " " $3] += split(text, w, /[ \n]+/)
    }
    END { for (k in docs) { split(k, q, " "); printf "%-10s %-10s %7d documents %9d words %10d bytes\n", q[1], q[2], docs[k], wordcount[k], bytes[k] > stat } }' \
    "$work/mixed.txt" || die "writing the shards failed"
[ -s "$work/new/train/000.txt" ] && [ -s "$work/new/validation/000.txt" ] || die "no text came out"
for f in "$work"/new/*/*.txt; do
    iconv -f UTF-8 -t UTF-8 "$f" >/dev/null 2>&1 || die "${f#"$work"/new/} is not valid UTF-8"
done

{
    printf 'Dibit base corpus\n\nPackages (Debian)\n\n'
    cat "$work/packages.txt"
    printf '\nText by place and source\n\n'
    sort "$work/stat.txt"
    printf '\nSource texts (SHA-256, package:path)\n\n'
    sort -k 2 -u "$work/files.txt"
    printf '\nFiles written (SHA-256, path)\n\n'
    (cd "$work/new" && sha256sum train/*.txt validation/*.txt)
} >"$work/new/MANIFEST.txt" || die "cannot write the manifest"

rm -rf "$out/train" "$out/validation" "$out/MANIFEST.txt"
mv "$work/new/train" "$work/new/validation" "$work/new/MANIFEST.txt" "$out/" || die "cannot move the result into $out"

awk '/^Text by/ { on = 1; next } /^Source texts/ { exit } on && NF' "$out/MANIFEST.txt"
