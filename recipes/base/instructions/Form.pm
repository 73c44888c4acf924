package Form;
# What the makers of instruction examples share: a random choice that depends on a key alone, prompts, and the row of an example.
#
# A row is task, system message, user's message, answer, with tabs between; line feeds inside are \001. finish.pl turns rows into chats.
use strict;
use warnings;
use bytes;
our @ISA = ();

my $state = 1;
our $closed = 55;        # in how many of a hundred examples the prompt names the labels

# Starts the row of choices for a key.
sub seed {
    my $h = 5381;
    $h = ($h * 33 + $_) % 2147483647 for unpack 'C*', substr(join("\t", @_), 0, 200);
    $state = $h % 2147483646 + 1;
    draw(2) for 1 .. 3;
}

# A number from 0 to below $n.
sub draw { my $n = shift; $state = $state * 48271 % 2147483647; return int($state / 2147483647 * $n) }

sub pick { return $_[draw(scalar @_)] }

sub shuffled {
    my @l = @_;
    for my $i (reverse 1 .. $#l) { my $j = draw($i + 1); @l[$i, $j] = @l[$j, $i] }
    return @l;
}

sub row {
    my ($task, $system, $user, $answer) = @_;
    for ($system, $user, $answer) { tr/\t\n/ \001/; s/^[ \001]+|[ \001]+$//g; return if /[<>]/ }
    return if $answer eq '' || $user eq '' && $system eq '';
    print "$task\t$system\t$user\t$answer\n";
}

sub json_list {
    my ($key, @values) = @_;
    for (@values) { s/([\\"])/\\$1/g }
    return "{\"$key\":[" . join(',', map { "\"$_\"" } @values) . ']}';
}

my @open_one = ('Tag the text with its topic.', 'Tag the text with its topic.', 'Tag the text with its topic.', 'What is the topic of the text? Answer in JSON.',
    'Give the topic of the text as a tag.', 'Name the subject of the text.', 'Tag the text.', 'Find the topic that the text is about.',
    'You tag texts with topics. Answer in JSON.', 'Classify the text by subject. Answer with JSON.', 'Label this text with its subject.');
my @open_many = ('Tag the text with its topics.', 'Tag the text with its topics.', 'Tag the text with up to three topics.', 'Give one to three tags for the text.',
    'Which topics does the text touch? Answer in JSON.', 'Tag the text.', 'List the subjects of the text, three at most.', 'You tag texts with topics. Answer in JSON.');
my @closed_one = ('Tag the text with its topic, one of: %s.', 'Which of these topics fits the text best: %s? Answer in JSON.', 'Choose the topic of the text from this list: %s.',
    'Topics: %s. Tag the text with the one that fits.', 'Tag the text with its topic. The topics are %s.', 'Classify the text. Labels: %s.',
    'Pick the best tag for the text. Allowed tags: %s.', 'Sort the text into one of these classes: %s.');
my @closed_many = ('Tag the text with those of these topics that fit: %s.', 'Choose one to three topics of the text from this list: %s.',
    'Tag the text. Allowed tags: %s.', 'Which of these subjects does the text touch: %s? Answer in JSON.', 'Topics: %s. Tag the text with all that fit.');

# tagging(TASK, TEXT, ANSWERS, OTHERS): one example; OTHERS are labels that are wrong for the text. In $closed of a hundred the prompt
# names the labels to choose from; in a sixth the instruction stands in the user's message.
sub tagging {
    my ($task, $text, $answers, $others) = @_;
    my @answers = @$answers;
    my $many = @answers > 1 || draw(4) == 0;
    my $instruction;
    my @others = grep { my $o = $_; !grep { $_ eq $o } @answers } @$others;
    if (@others >= 3 && draw(100) < $closed) {
        my %seen;
        my $n = pick(2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15);
        my @wrong = grep { !$seen{$_}++ } map { pick(@others) } 1 .. $n;
        my @list = shuffled(@answers, @wrong);
        my %place;
        @place{@list} = 0 .. $#list;
        @answers = sort { $place{$a} <=> $place{$b} } @answers if @answers > 1 && draw(2);
        $instruction = sprintf pick($many ? @closed_many : @closed_one), join ', ', @list;
    } else { $instruction = pick($many ? @open_many : @open_one) }
    my $answer = json_list('topics', @answers);
    my $way = draw(6);
    if ($way == 0) { row($task, '', draw(2) ? "$instruction\n$text" : "$text\n$instruction", $answer) }
    else { row($task, $instruction, $text, $answer) }
}

# The first sentences of a text, whole, up to about $most bytes.
sub beginning {
    my ($s, $most) = @_;
    return $s if length $s <= $most;
    my $out = '';
    for my $sentence (split /(?<=[.!?]) (?=[A-Z"'(])/, $s) {
        last if $out ne '' && length($out) + length($sentence) > $most;
        $out .= ($out eq '' ? '' : ' ') . $sentence;
        last if length $out > $most;
    }
    return length $out <= 1.5 * $most ? $out : '';
}

sub plural {
    my $w = shift;
    return $w if $w =~ /(?:people|fish|sheep|money|music|software|furniture|clothing|weather|[^s]ics|ware|ness|ment|ity|ism)$/;
    return $w if $w =~ /s$/ && $w !~ /ss$/;
    return "${w}es" if $w =~ /(?:x|z|ch|sh|ss)$/;
    return "$1ies" if $w =~ /^(.*[^aeiou])y$/;
    return "${1}men" if $w =~ /^(.*)man$/ && $w !~ /human|german/i;
    return "${w}s";
}

1;
