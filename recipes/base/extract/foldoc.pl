#!/usr/bin/perl
# Dictionaries of dictd with headwords at the margin and text indented by three: foldoc.pl < NAME.dict
#
# Writes "Headword (category): text" a paragraph a line, some entries in a row and then a blank line. References, dates and addresses go.
use strict;
use warnings;
use bytes;

my ($word, $first, $text, $length, $on) = ('', 1, '', 0, 0);
sub paragraph {
    my $s = $text;
    $text = '';
    return if $word eq '';
    $s =~ s/[{}]//g; $s =~ s/\s+/ /g; $s =~ s/^ | $//g; $s =~ s/__//g;
    return if $s eq '' || $s =~ /^\[|^\(\d{4}-\d\d-\d\d\)$|^\(?(?:https?|ftp):|^[A-Z][a-z]+: ?<|^(?:Home|E-mail|Mailing list|Usenet|FTP|ftp|WWW|Web|Version|Contact|Current version|Runs on|Conforms|Author)/;
    $s =~ s/ \((?:https?|ftp|news|mailto):[^)]*\)//g; $s =~ s/ ?\[[^\]]{3,}\]//g;
    my $category = $s =~ s/^(?:\d\. )?<([a-z][a-z, -]*)> ?// ? $1 : '';
    $s =~ s/^\d\. //;
    return if length $s < 40 || $s =~ /[<>|\\]|https?:|www\.|ftp:|@/;
    $s = $category eq '' ? "$word: $s" : "$word ($category): $s" if $first || $category ne '';
    print "$s\n";
    $length += length $s;
    $first = 0;
}
while (my $line = <STDIN>) {
    chomp $line;
    if ($line =~ /^\S/) {
        paragraph();
        if ($length > 1800) { print "\n"; $length = 0 }
        $word = $line; $first = 1; $on = $line !~ /^00-|GNU Free Documentation|^\W/;
        $word = '' if !$on || length $line > 50;
    } elsif ($line =~ /^\s*$/) { paragraph() }
    else { $text .= " $line" }
}
paragraph();
print "\n";
