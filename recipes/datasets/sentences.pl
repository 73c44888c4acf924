#!/usr/bin/perl
# Draws a set: sentences.pl TEXTS-A-LABEL LABELS OUTPUT-FOLDER FILE [TEST-FILE]
#
# A line of a file is a label, a space and a text (`1 a fine film`), the label perhaps with a finer one behind a colon (`NUM:date When was ...`); or, in
# a file named *.csv, a label, a title and a text, quoted. LABELS are `0=negative 1=positive`. A text that comes twice is taken once.
use strict;
use warnings;
use bytes;
my ($here) = $0 =~ m{^(.*/)};
require(($here // './') . 'draw.pl');

my ($texts, $labels, $output, @files) = @ARGV;
my ($most_tests, $most_unlabelled) = (1000, 1500);
my %label = map { split /=/, $_, 2 } split / /, $labels;

# The texts of a file with their labels, in an order that depends on the texts alone.
sub texts {
    my ($path) = @_;
    open my $file, '<', $path or die "sentences.pl: $path: $!\n";
    my (%label_of, $skipped);
    while (<$file>) {
        chomp;
        next if /^\S* ?$/;                               # a label without a text
        my ($name, $text) = /^([^ :]+)(?::\S+)? (.+)/;
        if ($path =~ /\.csv$/) {
            my @cells = map { s/""/"/gr } /"((?:[^"]|"")*)"/g;
            ($name, $text) = ($cells[0], "$cells[1]. $cells[2]");
        }
        die "sentences.pl: $path: line $.: expected a label of '$labels' and a text, found '$_'\n" if !defined $name || !defined $label{$name};
        $text =~ s/\s+$//;
        # Bytes that are not UTF-8 are Latin-1.
        my $copy = $text;
        utf8::encode($text) if !utf8::decode($copy);
        $label_of{$text} //= $label{$name};
    }
    my %place = map { $_ => hash($_) } keys %label_of;
    return map { [$_, $label_of{$_}] } sort { $place{$a} <=> $place{$b} || $a cmp $b } keys %label_of;
}

sub write_rows {
    my ($name, @rows) = @_;
    open my $file, '>', "$output/$name.jsonl" or die "sentences.pl: $output/$name.jsonl: $!\n";
    print $file @rows;
    close $file or die "sentences.pl: $output/$name.jsonl: $!\n";
}

my ($learn, $test) = map { [texts($_)] } @files;
my (%count, @train, @rest);
push @{$count{$_->[1]}++ < $texts ? \@train : \@rest}, $_ for @$learn;
my %taken = map { $_->[0] => 1 } @train;
my @tests = grep { !$taken{$_->[0]} } @{$test // \@rest};
splice @tests, $most_tests if @tests > $most_tests;
$taken{$_->[0]} = 1 for @tests;
my @unlabelled = grep { !$taken{$_->[0]} } @rest;
splice @unlabelled, $most_unlabelled if @unlabelled > $most_unlabelled;

write_rows('train', map { row(text => $_->[0], label => $_->[1]) } @train);
write_rows('test', map { row(text => $_->[0], label => $_->[1]) } @tests);
write_rows('unlabelled', map { row(text => $_->[0]) } @unlabelled);
