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
