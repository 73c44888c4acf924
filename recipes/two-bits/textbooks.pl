#!/usr/bin/perl
# The prose of CNXML modules: textbooks.pl [HELD-OUT-FILE...] <BATCH >TEXT
#
# BATCH is what `git cat-file --batch` prints. A module becomes a line for each title, paragraph and long item, and a blank line. Tables, figures,
# exercises, formulas and footnotes are left out, and so is what shares eight words in a row with a held-out file.
use strict;
use warnings;
use bytes;

my $run = 8;
my %held;
for my $path (@ARGV) {
    open my $file, '<', $path or die "textbooks.pl: $path: $!\n";
    local $/;
    $held{$_} = 1 for runs(<$file> // '');
}

# The runs of so many words in a text.
sub runs {
    my @words = lc(shift) =~ /[\w\x80-\xff]+/g;
    return map { join ' ', @words[$_ .. $_ + $run - 1] } 0 .. $#words - $run + 1;
}

my %entity = (amp => '&', lt => '<', gt => '>', quot => '"', apos => "'", nbsp => ' ');

# The characters that an entity stands for, in UTF-8.
sub character {
    my ($name) = @_;
    my $code = $name =~ /^#x([0-9a-f]+)$/i ? hex $1 : $name =~ /^#([0-9]+)$/ ? $1 : return $entity{$name} // ' ';
    my $character = chr $code;
    utf8::encode($character);
    return $character;
}

while (my $header = <STDIN>) {
    my ($size) = $header =~ /^\S+ blob (\d+)$/ or die "textbooks.pl: expected a blob, found $header";
    read(STDIN, my $module, $size + 1) == $size + 1 or die "textbooks.pl: a module ends early\n";
    $module =~ s/<metadata.*?<\/metadata>//gs;
    $module =~ s/<((?:m:)?math|table|figure|media|exercise|iframe|glossary|footnote)\b[^>]*(?<!\/)>.*?<\/\1>//gs;
    $module =~ s/\s*\(\s*(?:see\s+)?<link[^>]*\/>\s*\)//gi;
    my @lines;
    while ($module =~ /<(title|para|item)\b[^>]*(?<!\/)>(.*?)<\/\1>/gs) {
        my ($kind, $line) = ($1, $2);
        $line =~ s/<[^>]+>//g;
        $line =~ s/&(#?\w+);/character($1)/ge;
        $line =~ s/\s+/ /g;
        $line =~ s/^ | $//g;
        next if length $line < ($kind eq 'item' ? 60 : 4) || grep { $held{$_} } runs($line);
        push @lines, $line;
    }
    # A module of pictures and questions has no prose.
    print map { "$_\n" } @lines, '' if 400 < eval { my $length = 0; $length += length for @lines; $length };
}
