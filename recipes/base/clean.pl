#!/usr/bin/perl
# Cleans the extracted texts, drops what repeats, and cuts them into documents: clean.pl TABLE STATISTICS [HELD-OUT-FILE...] > documents
#
# TABLE has a line for each text: name, style, file (tabs between). Styles: prose (paragraphs, headings marked \002, items \003, blank line
# between documents), entries (the same, lines of a dictionary), fixed (T, V or N, a tab, a document with \001 for the ends of lines).
#
# Writes name, place (T, V), order key, document with \001 for the ends of lines and \002 before headings. A paragraph that shares eight words in a row with a
# held-out file is dropped. Memory: about 100 bytes for each paragraph and each run of eight held-out words.
use strict;
use warnings;
use bytes;

my ($table, $statistics, @held_out) = @ARGV;
my (%seen, %headings, %runs, %count);

# Common words of English, of which every paragraph of prose has its share.
my $common = qr/\b(?:the|of|and|to|a|an|in|is|are|was|were|be|been|that|this|these|those|for|it|its|with|as|on|by|or|not|from|you|your|which|can|if|
    at|will|would|his|her|he|she|they|their|we|our|i|my|have|has|had|but|all|one|any|when|what|who|there|no|so|do|does|may|more|than|into|also|use|used)\b/x;
my $coarse = qr/(?:^|[^a-z])(?:fuck|shit|cunt|nigg(?:er|a)|injun|faggot|bitch|whore|harlot|slut|asshole|bastard|darkey|darkies|dildo|porn|pussy|
    tits\b|arse\b|turd|pissed|pissing|wank|kike\b|wetback|chink\b|squaw|negress|half-breed|savages\b)|sexual\ intercourse|masturbat|orgasm|copulat|erotic|
    pornograph|fornicat|prostitut|concubine|foreskin|penis|vagina|semen\b|rapist|raped\b|incest\b/x;
my $boilerplate = qr/without\ (?:any\ )?warranty|all\ rights\ reserved|copyright\ (?:\(c\)|[12][0-9]{3})|permission\ is\ (?:hereby\ )?granted|
    free\ documentation\ license|general\ public\ license|redistribut(?:e|ion)\ (?:and|it|in)|creative\ commons|licensed\ under|project\ gutenberg|
    your\ (?:browser|javascript)|click\ here|table\ of\ contents|all\ trademarks|this\ page\ (?:was|is|has)|last\ (?:modified|updated)|
    mailing\ list\ archive|bug\ reports?\ to|send\ (?:bug|comments|mail)|report\ bugs|pull\ request/x;
my %dull = map { $_ => 1 } qw(description examples example notes note arguments parameters returns return value values overview introduction contents
    index references bibliography options syntax usage bugs authors author keywords footnotes navigation search remarks warnings), 'see also', 'return value';

sub words { my $s = lc shift; $s =~ tr/a-z0-9'/ /cs; $s =~ s/^ | $//g; return $s }

sub each_run {
    my ($s, $do) = @_;
    my @start = (0);
    while ($s =~ / /g) { push @start, pos $s }
    push @start, 1 + length $s;
    for my $i (0 .. $#start - 8) { return 1 if $do->(substr $s, $start[$i], $start[$i + 8] - 1 - $start[$i]) }
    return 0;
}

for my $file (@held_out) {
    open my $in, '<', $file or die "clean.pl: $file: $!\n";
    local $/;
    my $s = words(scalar <$in>);
    each_run($s, sub { $runs{$_[0]} = 1; 0 });
}
my $held = %runs ? 1 : 0;

# Quotation marks, dashes and spaces as a keyboard has them.
sub plain {
    my $s = shift;
    $s =~ s/\xe2\x80[\x9c\x9d\x9e]|\xc2[\xab\xbb]/"/g; $s =~ s/\xe2\x80[\x98\x99]|\xc2\xb4/'/g;
    $s =~ s/ ?\xe2\x80\x94 ?/ - /g; $s =~ s/\xe2\x80[\x90-\x93]/-/g; $s =~ s/\xe2\x80\xa6/.../g;
    $s =~ s/\xc2\xa0|\xe2\x80[\x80-\x8a\xaf]|\xe3\x80\x80/ /g; $s =~ s/\xc2\xad|\xe2\x80\x8b|\xef\xbb\xbf//g;
    $s =~ s/``|''/"/g; $s =~ s/(^|[\s("])`/$1'/g;
    $s =~ tr/\000-\037\177/ /;
    $s =~ s/(?<=[A-Za-z0-9"'),;]) ?--+ ?(?=[A-Za-z"'(])/ - /g;
    $s =~ s/  +/ /g; $s =~ s/^ | $//g; $s =~ s/ ([,.;:!?])(?=\s|$)/$1/g; $s =~ s/\( /(/g; $s =~ s/ \)/)/g;
    return $s;
}

# The paragraph as it will stand in the corpus, or why it will not.
sub paragraph {
    my ($s, $style, $name) = @_;
    $s = plain($s);
    my $length = length $s;
    return 'short' if $length < 3;
    my $low = lc $s;
    return 'coarse' if $low =~ $coarse;
    my $letters = ($s =~ tr/A-Za-z //);
    return 'symbols' if $letters < 0.8 * $length;
    my $foreign = ($s =~ tr/\200-\377//);
    return 'foreign' if $foreign > 0.03 * $length + 3;
    if ($style ne 'fixed') {
        return 'boilerplate' if $low =~ $boilerplate;
        my $signs = ($s =~ tr/<>{}[]|\\=_@#$%^*~+//);
        return 'symbols' if $signs > 0.012 * $length || $s =~ /https?:|www\.|ftp:|\w@\w/;
        my $spaces = ($s =~ tr/ //);
        return 'short' if $spaces < 2;
        my $common_words = () = $low =~ /$common/g;
        return 'foreign' if $common_words < ($style eq 'entries' ? 0.1 : 0.17) * $spaces;
        return 'symbols' if $length > 9 * ($spaces + 1) + 20;
        if ($style eq 'prose') {
            return 'short' if $length < 40 && $s !~ /[.!?]["')]*$/;
            return 'fragment' if $s !~ /[.!?:;"')]$/ && $length < 200;
            my $capitals = ($s =~ tr/A-Z//);
            return 'symbols' if $capitals > 0.2 * $length;
        }
    }
    return 'long' if $length > 20000;
    if ($name ne 'topics' && $length >= ($style eq 'fixed' ? 30 : 12)) {
        my $key = $low;
        $key =~ tr/a-z//cd;
        $key = substr($key, 0, 14) . pack 'vNN', length($key) & 65535, unpack('%32N*', $key), unpack('%32C*', substr $key, length($key) >> 1);
        return 'repeated' if $seen{$key}++;
    }
    return 'held out' if $held && $length > 30 && each_run(words($s), sub { exists $runs{$_[0]} });
    return \$s;
}

# A number from all bytes of a text, four at a time.
sub number {
    use integer;
    my $h = 2166136261;
    $h = (($h ^ $_) * 16777619 + ($h >> 15 & 0x1ffff)) & 0xffffffff for unpack 'N*', $_[0] . "\0\0\0";
    $h = ($h ^ ($h >> 15 & 0x1ffff)) * 2246822519 & 0xffffffff;
    return $h ^ ($h >> 13 & 0x7ffff);
}

my ($name, $style, @lines, $size) = ('', '');
sub document {
    my $place = shift;
    # What a colon announced was often a table or code that is gone.
    if ($style eq 'prose') {
        my @kept;
        for my $i (0 .. $#lines) { push @kept, $lines[$i] if $lines[$i] !~ /:$/ || ($lines[$i + 1] // '') =~ /^(?:- |")/ }
        @lines = @kept;
    }
    pop @lines while @lines && $lines[-1] =~ /^\002/;
    my $text = join "\001", @lines;
    @lines = (); $size = 0;
    return if length $text < ($style eq 'fixed' ? 60 : 160);
    my $h = number($text);
    $place = 'V' if $place eq 'T' && $h % 100 == 0;
    printf "%s\t%s\t%010d\t%s\n", $name, $place eq 'V' ? 'V' : 'T', number("$h $name"), $text;
    $count{$name}{documents}++; $count{$name}{bytes} += 2 + length $text;
}

open my $list, '<', $table or die "clean.pl: $table: $!\n";
while (my $row = <$list>) {
    chomp $row;
    ($name, $style, my $file) = split /\t/, $row;
    open my $in, '<', $file or die "clean.pl: $file: $!\n";
    $size = 0; @lines = ();
    while (my $line = <$in>) {
        chomp $line;
        if ($style eq 'fixed') {
            my ($place, $text) = split /\t/, $line, 2;
            for my $p (split /\001/, $text) {
                my $r = paragraph($p, $style, $name);
                if (ref $r) { push @lines, $$r } else { $count{$name}{$r}++ }
            }
            document($place);
            next;
        }
        if ($line eq '') { document('T') if $size > 400 || $style eq 'prose'; next }
        if ($line =~ s/^\002//) {
            document('T') if $size > 3000;
            pop @lines if @lines && $lines[-1] =~ /^\002/;
            $line = plain($line);
            my $low = lc $line;
            my $letters = ($line =~ tr/A-Za-z //);
            next if length $line > 100 || length $line < 4 || $letters < 0.85 * length $line || $dull{$low} || $low =~ $coarse || ++$headings{$low} > 12;
            push @lines, "\002$line";
            next;
        }
        my $item = $line =~ s/^\003//;
        my $r = paragraph($line, $item && $style eq 'prose' ? 'item' : $style, $name);
        if (!ref $r) { $count{$name}{$r}++; next }
        push @lines, $item ? "- $$r" : $$r;
        $size += length $$r;
        document('T') if $size > 6500;
    }
    document('T');
}

open my $out, '>', $statistics or die "clean.pl: $statistics: $!\n";
for my $n (sort keys %count) {
    print $out join("\t", $n, map { $count{$n}{$_} // 0 } qw(documents bytes repeated coarse symbols foreign boilerplate fragment short long), 'held out'), "\n";
}
