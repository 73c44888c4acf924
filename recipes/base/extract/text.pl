#!/usr/bin/perl
# Plain text with blank lines between paragraphs, wrapped lines joined: text.pl [--indented] [FILE...]
#
# Writes a paragraph a line and a blank line after each file. Blocks that look like tables or code are left out: lines with wide gaps,
# and, without --indented, paragraphs whose lines are all indented by four or more.
use strict;
use warnings;
use bytes;

my $indented = @ARGV && $ARGV[0] eq '--indented' ? shift : '';
my @lines;
sub paragraph {
    my @now = @lines;
    @lines = ();
    return 0 if !@now;
    my $wide = grep { /\S {3,}\S/ } @now;
    return 0 if $wide > 0.3 * @now;
    return 0 if !$indented && !grep { !/^(?: {4}|\t)/ } @now;
    my $s = join ' ', @now;
    $s =~ s/\s+/ /g; $s =~ s/^ | $//g;
    if ($s =~ /^(?:CHAPTER|Chapter|BOOK|VOLUME|ADVENTURE) /) { print "\002$s\n" if length $s < 90; return 0 }
    $s =~ s/(?<=[A-Za-z])--(?=[A-Za-z"'])/ - /g;
    $s =~ s/(^|\W)_([^_]+)_/$1$2/g;
    $s =~ s/^[*o-] (?=[A-Z])/\003/;
    print "$s\n";
    return 1;
}
for my $file (@ARGV ? @ARGV : '-') {
    my $in;
    if ($file eq '-') { $in = \*STDIN }
    elsif ($file =~ /\.gz$/) { open $in, '-|', 'gzip', '-dc', $file or die "text.pl: $file: $!\n" }
    else { open $in, '<', $file or die "text.pl: $file: $!\n" }
    while (my $line = <$in>) {
        $line =~ s/[\r\n]+$//;
        if ($line =~ /^\s*$/) { paragraph() }
        else {
            paragraph() if $line =~ /^\s{0,3}[*o-] / && @lines;
            push @lines, $line;
        }
    }
    paragraph();
    print "\n";
}
