#!/usr/bin/perl
# Prose out of HTML, XHTML, Mallard and DocBook-like pages: html.pl [--keep-tables] [--main=CLASS] FILE...
#
# Writes one paragraph a line and a blank line after each page. A heading begins with \002, an item of a list with \003.
# Code, tables, navigation and forms are left out; so are scripts and styles.
use strict;
use warnings;
use bytes;

my ($tables, $main) = (0, '');
while (@ARGV && $ARGV[0] =~ /^--/) {
    my $option = shift;
    if ($option eq '--keep-tables') { $tables = 1 }
    elsif ($option =~ /^--main=(.+)$/) { $main = $1 }
    else { die "html.pl: unknown option $option\n" }
}

my %entity = (
    amp => '&', lt => '<', gt => '>', quot => '"', apos => "'", nbsp => ' ', mdash => ' - ', ndash => '-', hellip => '...',
    lsquo => "'", rsquo => "'", ldquo => '"', rdquo => '"', copy => '(c)', reg => '', trade => '', times => 'x', minus => '-',
    rarr => '->', larr => '<-', shy => '', laquo => '"', raquo => '"', deg => ' degrees', eacute => "\xc3\xa9", egrave => "\xc3\xa8",
    ouml => "\xc3\xb6", uuml => "\xc3\xbc", auml => "\xc3\xa4", szlig => "\xc3\x9f", ccedil => "\xc3\xa7", aacute => "\xc3\xa1",
    oacute => "\xc3\xb3", iacute => "\xc3\xad", bull => '', middot => ' ', thinsp => ' ', ensp => ' ', emsp => ' ', zwj => '', zwnj => '',
);

sub utf8_of {
    my $n = shift;
    return ' ' if $n == 160 || $n == 8203 || $n < 32 || $n > 0xffff;
    return chr $n if $n < 128;
    return chr(0xc0 | $n >> 6) . chr(0x80 | $n & 63) if $n < 0x800;
    return chr(0xe0 | $n >> 12) . chr(0x80 | $n >> 6 & 63) . chr(0x80 | $n & 63);
}

sub decode {
    my $name = shift;
    return utf8_of(hex $1) if $name =~ /^#[xX]([0-9a-fA-F]{1,6})$/;
    return utf8_of($1) if $name =~ /^#([0-9]{1,7})$/;
    return $entity{$name} // '|';
}

my $dropped = 'script|style|pre|svg|select|button|form|nav|footer|aside|textarea|object|audio|video|map|iframe|math|noscript|head' .
    '|programlisting|screen|literallayout|synopsis|media|info|links|code mime|tfoot|colgroup';
$dropped .= '|table|tgroup' unless $tables;
my $block = 'p|li|h[1-6]|ul|ol|dl|dt|dd|div|hr|body|section|article|main|header|blockquote|br|td|th|tr|item|steps|list|note|title|' .
    'caption|figure|figcaption|center|para|listitem|itemizedlist|variablelist|terms|page|example|tbody|address|details|summary|table';

sub page {
    my $s = shift;
    # A page in Latin-1 becomes UTF-8.
    my $copy = $s;
    if (!utf8::decode($copy)) {
        $s =~ s/([\x80-\xff])/utf8_of(ord $1)/ge;
    }
    $s =~ s/<!--.*?-->//gs;
    $s =~ s/<\?.*?\?>//gs;
    $s =~ s/\xc2\xb6//g;                      # the sign of a permanent link
    if ($main ne '' && $s =~ /<[a-z]+ [^>]*(?:class|id|role|itemprop)="[^"]*\b\Q$main\E\b[^"]*"[^>]*>/s) { $s = substr $s, $+[0] }
    $s =~ s{<($dropped)\b[^>]*/>}{}gis;
    1 while $s =~ s{<($dropped)\b[^>]*>(?:(?!<\1\b).)*?</\1\s*>}{\n\004\n}gis;
    # Signatures of functions, labels of terms, footnotes, navigation written as divisions.
    $s =~ s{<dt\b[^>]*class="[^"]*\b(?:sig|t-dsc)[^"]*"[^>]*>.*?</dt>}{\n}gs;
    $s =~ s{<(div|span|p|ul|ol|a)\b[^>]*(?:class|id)="[^"]*(?:nav|sidebar|breadcrumb|footer|highlight|headerlink|toc|copyright|editsection|printfooter|menu|related|mw-jump|catlinks|synopsis|programlisting|reflist|t-navbar|backlink)[^"]*"[^>]*>(?:(?!<\1\b).)*?</\1>}{\n}gs;
    $s =~ s{\n+}{ }g;
    $s =~ s{<h[1-6]\b[^>]*>|<title\b[^>]*>}{\n\002}gis;
    $s =~ s{<li\b[^>]*>|<item\b[^>]*>|<listitem\b[^>]*>|<dd\b[^>]*>}{\n\003}gis;
    $s =~ s{</?(?:$block)\b[^>]*>}{\n}gis;
    $s =~ s{<[^>]*>}{}g;
    $s =~ s{&(#?[A-Za-z0-9]+);}{decode($1)}ge;
    my $written = 0;
    for my $line (split /\n/, $s) {
        $line =~ tr/\004//d;
        $line =~ s/[ \t\r]+/ /g;
        $line =~ s/^ | $//g;
        $line =~ s/^([\002\003]) +/$1/;
        $line =~ s/^\002[0-9A-Z]{1,3}(?:\.[0-9]+)*\.? /\002/;
        next if length $line < 3;
        print "$line\n";
        $written++;
    }
    print "\n" if $written;
}

for my $file (@ARGV) {
    my $in;
    if ($file =~ /\.gz$/) { open $in, '-|', 'gzip', '-dc', $file or die "html.pl: $file: $!\n" }
    else { open $in, '<', $file or die "html.pl: $file: $!\n" }
    binmode $in;
    local $/;
    my $text = <$in>;
    close $in;
    next if !defined $text || length $text > 8_000_000;
    page($text);
}
