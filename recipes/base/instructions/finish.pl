#!/usr/bin/perl
# Rows of examples to chats: finish.pl OUTPUT-FOLDER VALIDATION-FOLDER [HELD-OUT-FILE...] < rows
#
# Drops rows that repeat, hold coarse words, or share eight words in a row with a held-out file; puts them in the order of a hash, and sends
# one text in a hundred to the validation folder, a file for each task. A text with several tasks goes to one place with all of them.
use strict;
use warnings;
use bytes;

my ($train, $validation, @held_out) = @ARGV;
my (%runs, %seen, %count, @rows);
my $coarse = qr/\b(?:fuck|shit|cunt|nigg|faggot|bitch|whore|slut|asshole|bastard|dildo|porn|pussy|arse\b|turd|wank|kike\b|rape)|sexual intercourse|masturbat|orgasm|copulat|prostitut|penis\b|vagina|\bsemen\b/i;

sub words { my $s = lc shift; $s =~ tr/a-z0-9'/ /cs; $s =~ s/^ | $//g; return $s }
sub each_run {
    my ($s, $do) = @_;
    my @start = (0);
    while ($s =~ / /g) { push @start, pos $s }
    push @start, 1 + length $s;
    for my $i (0 .. $#start - 8) { return 1 if $do->(substr $s, $start[$i], $start[$i + 8] - 1 - $start[$i]) }
    return 0;
}
for my $file (@held_out) {
    open my $in, '<', $file or die "finish.pl: $file: $!\n";
    local $/;
    each_run(words(scalar <$in>), sub { $runs{$_[0]} = 1; 0 });
}
sub number {
    use integer;
    my $h = 2166136261;
    $h = (($h ^ $_) * 16777619 + ($h >> 15 & 0x1ffff)) & 0xffffffff for unpack 'N*', $_[0] . "\0\0\0";
    $h = ($h ^ ($h >> 15 & 0x1ffff)) * 2246822519 & 0xffffffff;
    return $h ^ ($h >> 13 & 0x7ffff);
}
while (my $row = <STDIN>) {
    chomp $row;
    my ($task, $system, $user, $answer) = split /\t/, $row;
    if ("$user $answer" =~ $coarse) { $count{coarse}++; next }
    my $key = number($user . $answer) . number("$answer$task$user");
    if ($seen{$key}++) { $count{repeated}++; next }
    if (%runs && each_run(words($user), sub { exists $runs{$_[0]} })) { $count{'held out'}++; next }
    # The place depends on the text without the instruction around it: its longest line.
    my ($text) = sort { length $b <=> length $a } split /\001/, $user;
    my $place = number(substr words($text), 0, 80) % 100 == 0 ? 'V' : 'T';
    push @rows, sprintf "%010d%s%s", number("order $row"), $place, $row;
}
@rows = sort @rows;
my ($number, $size, $out, %held) = (0, 0);
for (@rows) {
    my ($task, $system, $user, $answer) = split /\t/, substr $_, 11;
    my $chat = ($system eq '' ? '' : "<turn_start> system<n>$system<turn_end>") . "<turn_start> user<n>$user<turn_end><turn_start> assistant<n>$answer<turn_end>\n";
    $chat =~ tr/\001/\n/;
    if (substr($_, 10, 1) eq 'V') {
        if (!$held{$task}) { open $held{$task}, '>', "$validation/$task.txt" or die "finish.pl: $validation/$task.txt: $!\n" } else { print {$held{$task}} "\n" }
        print {$held{$task}} $chat;
        $count{"V $task"}++;
        next;
    }
    if (!$out || $size > 2_000_000) { open $out, '>', sprintf "%s/%03d.txt", $train, $number++ or die "finish.pl: $train: $!\n"; $size = 0 } else { print $out "\n" }
    print $out $chat;
    $size += length $chat;
    $count{"T $task"}++;
    $count{bytes} += 1 + length $chat;
}
printf "%-12s %7d\n", $_, $count{$_} for sort keys %count;
