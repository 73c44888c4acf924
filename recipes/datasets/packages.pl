#!/usr/bin/perl
# Chooses and cleans the texts of the dataset: packages.pl TABLE PACKAGES TRANSLATION OUTPUT-FOLDER
#
# TABLE maps sections and debtags to labels. A package that fits two labels is left out; a source package gives one text at most; a text
# that shares too much with one chosen before is left out. The order is a hash of the source package's name, so that the same lists give
# the same splits.
use strict;
use warnings;
use bytes;
my ($here) = $0 =~ m{^(.*/)};
require(($here // './') . 'draw.pl');

my ($table, $packages, $translation, $output) = @ARGV;
my %wanted = (train => 90, validation => 10, test => 20);
my $needed = $wanted{train} + $wanted{validation} + $wanted{test};
my %rule;
open my $rules, '<', $table or die "packages.pl: $table: $!\n";
while (<$rules>) { next if /^#/; chomp; my ($label, $marks) = split /\t/; $rule{$label} = [split / /, $marks] }

local $/ = '';
my (%package, %text);
open my $list, '<', $packages or die "packages.pl: $packages: $!\n";
while (<$list>) {
    my ($name) = /^Package: (\S+)/m or next;
    next if $package{$name} || $name =~ /^lib.*[0-9]$|-(?:dev|dbg|data|common|doc|locales|l10n-.*|i18n)$|-l10n-/;
    my ($section) = /^Section: (\S+)/m;
    next if $section =~ m{/|^(?:libs|libdevel|oldlibs|introspection|debug)$};      # contrib and non-free; libraries
    my $tags = /^Tag: (.*(?:\n .*)*)/m ? $1 : '';
    $tags =~ s/\s+//g;
    $tags =~ s/\{([^}]*)\}/$1/g;
    my ($source) = /^Source: (\S+)/m;
    my %mark = map { $_ => 1 } split(/,/, $tags), "s:$section";
    my @labels = grep { my $l = $_; grep { $mark{$_} || /^p:(.*)/ && $name =~ /^\Q$1/ } @{$rule{$l}} } sort keys %rule;
    $package{$name} = { source => $source // $name, label => $labels[0] } if @labels == 1;
}

# The description as prose: no lists, no name, no paragraph that other packages have too, about eighty words at most.
my %paragraphs;
sub clean {
    my ($name, $title, $body) = @_;
    my @paragraphs = ('');
    for my $line (split /\n/, $body) {
        if ($line eq ' .') { push @paragraphs, '' }
        elsif ($line =~ /^  |^ [*o-] /) { push @paragraphs, "\004" }
        elsif ($line =~ /^ (.*)/) { my $words = $1; $paragraphs[-1] =~ /^\004/ ? push(@paragraphs, $words) : ($paragraphs[-1] .= ($paragraphs[-1] eq '' ? '' : ' ') . $words) }
    }
    @paragraphs = grep { length > 30 && !/^\004/ && !/:$/ && !/^(?:This (?:is a )?(?:metapackage|dummy)|Home ?page|Author|URL|Web|Note)/i && ($paragraphs{$_} // 0) < 3 && !/https?:|www\.|\S@\S|[<>{}|\\_=]/ } @paragraphs;
    return '' if !@paragraphs;
    my $s = join ' ', @paragraphs;
    my $plain = $name;
    $plain =~ s/^(?:python3?-|r-cran-|r-bioc-|php-|ruby-|elpa-|node-)//;
    $plain =~ s/[-.0-9]+$//;
    my @names = ($name, $plain);
    push @names, $1 if $s =~ /^((?:The )?[A-Z"'][^,.;:()]{1,40}?),? (?:\([^)]*\) )?(?:is|was|provides|allows|lets|aims|implements|offers|has|contains|reads|generates) /;
    for my $n (sort { length $b <=> length $a } @names) {
        $n =~ s/^["']|["']$//g;
        $n =~ s/^The //;
        next if length $n < 2 || $n =~ /^(?:It|This|That|These|With|You|Using|A|An|In|For|As|GNU|Debian|KDE|GNOME|R|Python|Perl)\b/;
        my $pattern = join '[- ]?', map { quotemeta } split /[- ]/, $n;
        $s =~ s/^This (?:package|module|library) (?:contains|provides) /It provides /;
        $s =~ s/(^|[.!?] )(?:The |the )?["']?\b$pattern\b["']?(?:'s)?(?![a-z])/$1This program/gi;
        $s =~ s/(?:[Tt]he )?["']?\b$pattern\b["']?(?![a-z])/the program/gi;
        $title =~ s/(?:the )?["']?\b$pattern\b["']?/the program/gi;
    }
    $title =~ s/ \([^)]*\)$//; $title =~ s/ - .*$//;
    $title = '' if length $title < 15 || $title =~ /the program/ || hash($name) % 3 == 0;
    $s = "\u$title. $s" if $title ne '';
    $s =~ s/\s+/ /g; $s =~ s/``|''/"/g; $s =~ s/`/'/g;
    my @sentences = split /(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.) (?=[A-Z"])/, $s;
    my ($out, $words, $most) = ('', 0, 25 + hash("$name length") % 75);
    for my $sentence (@sentences) {
        my $n = () = $sentence =~ /\S+/g;
        last if $words && $words + $n > $most;
        $out .= ($out eq '' ? '' : ' ') . $sentence;
        $words += $n;
    }
    return '' if $words < 8 || $words > 110 || $out !~ /[.!?)]$/ || $out =~ /[^\x20-\x7e]/;
    my $common = () = $out =~ /\b(?:the|of|and|to|a|an|in|is|for|it|with|or|that|on|as|by|are|from|can|be|this|you)\b/gi;
    return '' if $common < 0.18 * $words;
    return '' if $out =~ /transitional|metapackage|dummy package|development files|sexual|porn|nude|bitch|fuck/i;
    return '' if (() = $out =~ /the program/gi) > 4;
    return $out;
}

open my $descriptions, '<', $translation or die "packages.pl: $translation: $!\n";
while (<$descriptions>) {
    next if !/^Description-en: .*\n((?: .*\n?)*)/m;
    $paragraphs{$_}++ for map { my $p = $_; $p =~ s/^ //mg; $p =~ s/\s+$//; $p =~ s/\n/ /g; $p } split /^ \.\n/m, $1;
}
seek $descriptions, 0, 0;
while (<$descriptions>) {
    my ($name) = /^Package: (\S+)/ or next;
    next if !$package{$name} || $text{$name} || !/^Description-en: (.*)\n((?: .*\n?)*)/m;
    $text{$name} = clean($name, $1, $2);
}

sub runs {
    my @words = split ' ', lc(shift) =~ tr/a-z0-9'/ /csr;
    return map { join ' ', @words[$_ .. $_ + 3] } 0 .. $#words - 3;
}

my (%count, %used, %held, @chosen);
my @order = sort { hash("$package{$a}{source} 7") <=> hash("$package{$b}{source} 7") || $a cmp $b } grep { $text{$_} } keys %package;
for my $name (@order) {
    my ($source, $label) = @{$package{$name}}{qw(source label)};
    next if $used{$source} || ($count{$label} // 0) >= $needed;
    my @runs = runs($text{$name});
    my $shared = grep { $held{$_} } @runs;
    next if !@runs || $shared > 0.1 * @runs;
    $used{$source} = 1;
    $held{$_} = 1 for @runs;
    $count{$label}++;
    push @chosen, $name;
}

my (%number, %file);
mkdir $output;
for my $split (qw(train validation test)) { open $file{$split}, '>', "$output/$split.jsonl" or die "packages.pl: $output/$split.jsonl: $!\n" }
for my $name (@chosen) {
    my ($source, $label) = @{$package{$name}}{qw(source label)};
    next if $count{$label} < 100;
    my $n = $number{$label}++;
    my $split = $n < $wanted{test} ? 'test' : $n < $wanted{test} + $wanted{validation} ? 'validation' : 'train';
    print {$file{$split}} row(text => $text{$name}, label => $label, package => $name, source => $source);
}
for my $label (sort keys %rule) { printf STDERR "%-12s %4d%s\n", $label, $count{$label} // 0, ($count{$label} // 0) < 100 ? '  too few, left out' : '' }
