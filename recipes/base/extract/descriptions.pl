#!/usr/bin/perl
# Descriptions of packages out of a Translation-en list: descriptions.pl < Translation-en
#
# Writes the short description as a heading (\002), then its paragraphs, and a blank line every few packages. The list is by name, so that
# packages of one family stand together. Those of parts (headers, symbols, translations) are left out: they repeat the main package's text.
use strict;
use warnings;
use bytes;

local $/ = '';
my $length = 0;
while (my $entry = <STDIN>) {
    my ($name) = $entry =~ /^Package: (\S+)/ or next;
    next if $name =~ /-(?:dev|dbg|dbgsym|data|common|locales|prof)$|-l10n-|^(?:lib|golang-|librust-|ghc-|node-|linux-(?:image|headers|source))|-dbg-|^(?:task-|language-)/;
    next if $entry !~ /^Description-en: (.*)\n((?: .*\n?)*)/m;
    my ($title, $body) = ($1, $2);
    next if $title =~ /transitional|dummy|metapackage|development files|debug/i;
    my @paragraphs = ('');
    for my $line (split /\n/, $body) {
        if ($line eq ' .') { push @paragraphs, '' }
        elsif ($line =~ /^  \s*[*o-] *(.*)|^ [*o-] +(.*)/) { push @paragraphs, "\003" . (defined $1 ? $1 : $2) }
        elsif ($line =~ /^  / && $paragraphs[-1] !~ /^\003/) { push @paragraphs, "\004" }
        elsif ($line =~ /^ +(.*)/) {
            my $words = $1;
            if ($paragraphs[-1] =~ /^\004/) { push @paragraphs, $words }
            else { $paragraphs[-1] .= ($paragraphs[-1] =~ /^\003?$/ ? '' : ' ') . $words }
        }
    }
    @paragraphs = grep { length $_ > 8 && !/^\004|^This (?:package|is (?:a|the) (?:dummy|transitional))|^(?:Home ?page|Author|URL|Web)/i } @paragraphs;
    next if !@paragraphs;
    $title =~ s/ \([^)]*\)$//;
    print "\002\u$title\n" if length $title > 8;
    for (@paragraphs) { print "$_\n"; $length += length $_ }
    if ($length > 1600) { print "\n"; $length = 0 }
}
print "\n";
