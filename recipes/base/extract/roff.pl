#!/usr/bin/perl
# Prose out of manual pages (man macros) and Perl's pods: roff.pl FILE...
#
# Writes a paragraph a line, headings with \002 in front, and a blank line after each page. Examples, tables and synopses are left out.
use strict;
use warnings;
use bytes;

my %skip = map { $_ => 1 } 'SYNOPSIS', 'COLOPHON', 'SEE ALSO', 'EXAMPLE', 'EXAMPLES', 'AUTHOR', 'AUTHORS', 'COPYRIGHT', 'ATTRIBUTES', 'CONFORMING TO',
    'STANDARDS', 'HISTORY', 'FILES', 'LICENSE', 'COPYRIGHT AND LICENSE', 'REPORTING BUGS', 'PROGRAM SOURCE', 'LIBRARY', 'Program source';

sub inline {
    my $s = shift;
    $s =~ s/\\".*//;
    $s =~ s/\\f(?:\[[A-Z]*\]|\([A-Z]{2}|.)//g;
    $s =~ s/\\s[+-]?\d//g;
    $s =~ s/\\\((?:lq|rq|dq)|\\\*\([lr]q/"/g; $s =~ s/\\\((?:aq|cq|oq)/'/g; $s =~ s/\\\(em/ - /g; $s =~ s/\\\(en|\\\(mi/-/g;
    $s =~ s/\\\((?:bu|co|rg|tm|ha|ti)//g; $s =~ s/\\\(../|/g; $s =~ s/\\\[[^\]]*\]|\\\*\(..|\\\*./|/g;
    $s =~ s/\\-/-/g; $s =~ s/\\[&%:|^\/,)c]//g; $s =~ s/\\[~ 0]/ /g; $s =~ s/\\e/\\/g; $s =~ s/\\'/'/g; $s =~ s/\\`/`/g; $s =~ s/\\\././g;
    return $s;
}

my $text = '';
sub put {
    my $s = $text;
    $text = '';
    $s =~ s/\s+/ /g; $s =~ s/^ | $//g;
    print "$s\n" if length $s > 2;
}

sub man {
    my ($off, $skipping, $term) = ('', 0, 0);
    for my $line (split /\n/, shift) {
        if ($line =~ /^[.'] *([A-Za-z]+) ?(.*)$/) {
            my ($macro, $rest) = ($1, $2);
            return if $macro =~ /^(?:Dd|Sh|so)$/;
            if ($off ne '') { $off = '' if $macro eq $off; next }
            if ($macro eq 'SH' || $macro eq 'SS') {
                put();
                $rest = inline($rest); $rest =~ s/"//g;
                if ($macro eq 'SH' || !$skipping) { $skipping = $skip{$rest} ? 1 : 0 if $macro eq 'SH'; print "\002$rest\n" if !$skipping && $rest !~ /^(?:NAME|DESCRIPTION)$/ }
            }
            elsif ($macro eq 'TS') { put(); $off = 'TE' }
            elsif ($macro eq 'nf' || $macro eq 'EX') { put(); $off = $macro eq 'nf' ? 'fi' : 'EE' }
            elsif ($macro =~ /^(?:PP|P|LP|HP|IP|RS|RE|sp|br)$/) { put() }
            elsif ($macro eq 'TP' || $macro eq 'TQ') { put(); $term = 1 }
            elsif (!$skipping && $macro =~ /^(?:B|I|BR|RB|IR|RI|BI|IB|SM|SB)$/) {
                my @words; my $r = inline($rest);
                while ($r =~ /"([^"]*)"|(\S+)/g) { push @words, defined $1 ? $1 : $2 }
                my $piece = join length $macro == 1 || $macro =~ /^S/ ? ' ' : '', @words;
                if ($term) { $term = 0; $text = "$piece: " if length $piece < 50 } else { $text .= " $piece" }
            }
        } elsif ($off eq '' && !$skipping) {
            if ($line =~ /^\s*$/) { put(); next }
            if ($term) { $term = 0; my $t = inline($line); $text = length $t < 50 ? "$t: " : $t; next }
            $text .= ' ' . inline($line);
        }
    }
    put();
    print "\n";
}

sub pod {
    my ($on, $skipping, $item) = (0, 0, '');
    for my $p (split /\n[ \t]*\n/, shift) {
        $p =~ s/^\n+//;
        if ($p =~ /^=([a-z0-9]+)\s*(.*)/s) {
            my ($command, $rest) = ($1, $2);
            if ($command eq 'cut') { $on = 0 } elsif ($command ne 'end') { $on = 1 }
            if ($command =~ /^head/) {
                $skipping = $skip{$rest} ? 1 : 0;
                1 while $rest =~ s/[A-Z]<+ ?([^<>]*?) ?>+/$1/g;
                print "\002$rest\n" if !$skipping && $rest !~ /^(?:NAME|DESCRIPTION)$/;
            }
            if ($command eq 'begin') { $skipping = 1 } elsif ($command eq 'end') { $skipping = 0 }
            next;
        }
        next if !$on || $skipping || $p =~ /^[ \t]/;
        $p =~ s/X<[^>]*>//g; $p =~ s/L<([^|<>]*)\|[^>]*>/$1/g; $p =~ s/E<lt>/</g; $p =~ s/E<gt>/>/g;
        1 while $p =~ s/[A-Z](?:<<+ (.*?) >>+|<([^<>]*)>)/$1 \/\/ $2/ges;
        $text = $p;
        put();
    }
    print "\n";
}

for my $file (@ARGV) {
    my $in;
    if ($file =~ /\.gz$/) { open $in, '-|', 'gzip', '-dc', $file or die "roff.pl: $file: $!\n" }
    else { open $in, '<', $file or die "roff.pl: $file: $!\n" }
    local $/;
    my $s = <$in>;
    close $in;
    next if !defined $s;
    $file =~ /\.pod$|\.pm$/ ? pod($s) : man($s);
}
