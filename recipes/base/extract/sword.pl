#!/usr/bin/perl
# Text of a Sword module (zText, zCom with zlib blocks, OSIS markup): sword.pl INDEX DATA [INDEX DATA]...
#
# INDEX holds entries of twelve bytes: offset, size and unpacked size of a block (a book or a chapter) in DATA. Writes a paragraph a line
# and a blank line after each block. Notes and titles are left out.
use strict;
use warnings;
use bytes;

# A gzip header takes the place of the two bytes of the zlib header; gzip then misses its own checksum and length at the end.
sub inflate {
    my ($packed, $plain) = @_;
    my $name = ($ENV{TMPDIR} // '/tmp') . "/sword.$$";
    open my $out, '>', $name or die "sword.pl: $name: $!\n";
    binmode $out;
    print $out "\037\213\010\000\000\000\000\000\000\003", substr $packed, 2;
    close $out;
    open my $in, '-|', "gzip -dc < '$name' 2>/dev/null" or die "sword.pl: gzip: $!\n";
    binmode $in;
    local $/;
    my $text = <$in>;
    close $in;
    unlink $name;
    die "sword.pl: a block does not unpack\n" if length($text // '') != $plain;
    return $text;
}

my %quote = ("\xe2\x80\x9c" => '"', "\xe2\x80\x9d" => '"', "\xe2\x80\x98" => "'", "\xe2\x80\x99" => "'");
while (@ARGV > 1) {
    my ($index, $data) = splice @ARGV, 0, 2;
    open my $i, '<', $index or die "sword.pl: $index: $!\n";
    open my $d, '<', $data or die "sword.pl: $data: $!\n";
    binmode $_ for $i, $d;
    while (read($i, my $entry, 12) == 12) {
        my ($offset, $size, $plain) = unpack 'V3', $entry;
        next if $plain < 300;
        seek $d, $offset, 0;
        read($d, my $packed, $size) == $size or die "sword.pl: $data ends too soon\n";
        my $s = inflate($packed, $plain);
        $s =~ s/\s+/ /g;
        $s =~ s{<(note|title|figure)\b[^>]*>(?:(?!<\1\b).)*?</\1>}{}gs;
        $s =~ s{</?(?:p|div|chapter|lg|list|item|table|row)\b[^>]*>|<lb\b[^>]*type="x-(?:begin|end)-paragraph"[^>]*>|<lb/>\s*<lb/>}{\n}g;
        $s =~ s{<(?:lb|l)\b[^>]*>}{ }g;
        $s =~ s{<[^>]*>}{}g;
        $s =~ s/&quot;/"/g; $s =~ s/&lt;/</g; $s =~ s/&gt;/>/g; $s =~ s/&apos;/'/g; $s =~ s/&amp;/&/g;
        $s =~ s/(\xe2\x80[\x98\x99\x9c\x9d])/$quote{$1}/g;
        for my $p (split /\n/, $s) {
            $p =~ s/\s+/ /g; $p =~ s/^ | $//g; $p =~ s/ ([,.;:!?])/$1/g;
            print "$p\n" if length $p > 2;
        }
        print "\n";
    }
}
