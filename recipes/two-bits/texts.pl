#!/usr/bin/perl
# The prose of files: texts.pl KIND NUMBER HELD-OUT-FILE... FILE... >TEXT, with NUMBER held-out files
#
# A document becomes a line for each paragraph, and a blank line. What shares eight words in a row with a held-out file is left out. Kinds:
#   cnxml       textbooks of OpenStax: titles, paragraphs and long items, without tables, figures, exercises, formulas and footnotes
#   conllu      Universal Dependencies: the text of each sentence
#   slash       words with their tags, The/at cat/nn
#   underscore  words with their tags, The_DT cat_NN
#   plain       paragraphs between blank lines, or one on each line
use strict;
use warnings;
use bytes;

my ($kind, $number) = splice @ARGV, 0, 2;
my ($run, $shortest_document) = (8, 400);
my %held;
for my $path (splice @ARGV, 0, $number) { $held{$_} = 1 for runs(contents($path)) }

sub contents {
    my ($path) = @_;
    open my $file, '<', $path or die "texts.pl: $path: $!\n";
    local $/;
    my $text = <$file> // '';
    # Bytes that are not UTF-8 are Latin-1.
    my $copy = $text;
    utf8::encode($text) if !utf8::decode($copy);
    return $text;
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

# The text that was cut into these words.
sub joined {
    my $text = join ' ', @_;
    $text =~ s/ ([.,;:!?%)\]}])/$1/g;
    $text =~ s/([(\[{\$#]) /$1/g;
    $text =~ s/ (n't|'s|'re|'ve|'ll|'d|'m|')(?=\W|$)/$1/g;
    $text =~ s/`` ?/"/g;
    $text =~ s/ ?''/"/g;
    return $text;
}

# The documents of a file, each a list of paragraphs.
my %documents = (
    cnxml => sub {
        my ($text) = @_;
        $text =~ s/<metadata.*?<\/metadata>//gs;
        $text =~ s/<((?:m:)?math|table|figure|media|exercise|iframe|glossary|footnote)\b[^>]*(?<!\/)>.*?<\/\1>//gs;
        $text =~ s/\s*\(\s*(?:see\s+)?<link[^>]*\/>\s*\)//gi;
        my @paragraphs;
        while ($text =~ /<(title|para|item)\b[^>]*(?<!\/)>(.*?)<\/\1>/gs) {
            my ($element, $paragraph) = ($1, $2);
            $paragraph =~ s/<[^>]+>//g;
            $paragraph =~ s/&(#?\w+);/character($1)/ge;
            push @paragraphs, $paragraph if $element ne 'item' || length $paragraph >= 60;
        }
        return [@paragraphs];
    },
    conllu => sub {
        my @paragraphs = ('');
        for (split /\n/, shift) {
            push @paragraphs, '' if /^# newpar/;
            $paragraphs[-1] .= "$1 " if /^# text = (.*)/;
        }
        return [@paragraphs];
    },
    slash => sub { tagged('/', @_) },
    underscore => sub { tagged('_', @_) },
    plain => sub {
        my @paragraphs = split /\n\s*\n/, $_[0];
        @paragraphs = split /\n/, $_[0] if @paragraphs < 5;
        return map { [@paragraphs[$_ * 20 .. min($_ * 20 + 19, $#paragraphs)]] } 0 .. $#paragraphs / 20;
    },
);

sub min { $_[0] < $_[1] ? $_[0] : $_[1] }

# Sentences on lines, five of them to a paragraph; nothing where words have no tags.
sub tagged {
    my ($mark, $text) = @_;
    return if $text !~ /^\s*\S+\Q$mark\E\S+(?:\s|$)/;
    my @sentences = map { joined(map { s/\Q$mark\E[^\Q$mark\E]*$//r } split ' ') } grep { /\S/ } split /\n/, $text;
    return [map { join ' ', @sentences[$_ * 5 .. min($_ * 5 + 4, $#sentences)] } 0 .. $#sentences / 5];
}

for my $path (@ARGV) {
    next if $path =~ m{(?:README|CONTENTS|cats\.txt|categories\.txt)$|_reddit_|GENTLE_|/spoken/|twitter|spam};
    for my $document ($documents{$kind}->(contents($path))) {
        my ($length, @paragraphs) = (0);
        for (@$document) {
            my $paragraph = s/\s+/ /gr =~ s/^ | $//gr;
            next if length $paragraph < 4 || grep { $held{$_} } runs($paragraph);
            $length += length $paragraph;
            push @paragraphs, $paragraph;
        }
        # A page of pictures and questions has no prose.
        print map { "$_\n" } @paragraphs, '' if $length > $shortest_document;
    }
}
