#!/usr/bin/perl
# Examples out of WordNet: wordnet.pl FOLDER-WITH-data.noun...
#
# Tagging by kind (bird, tool, disease: several hundred classes), by field of knowledge, by the lexicographers' files; actions and feelings;
# questions about the meaning of words, synonyms, opposites, kinds and examples.
use strict;
use warnings;
use bytes;
use FindBin;
use lib $FindBin::Bin;
use Form;

my $folder = shift;
my (%lemma, %gloss, %example, %up, %down, %domain, %opposite, %file, %rank);
my @ids;

sub bad { return $_[0] =~ /slur|obscen|offensive|derogat|disparag|vulgar|pejorat|taboo|sexual|prostitut|genital|masturbat|orgasm|erotic|copulat|\bsex\b|negro|\bblacks\b|savage|ethnic|excre|feces|faeces|urin(?:e|at)|penis|vagina|breast|buttock|nude|nazi/i }

for my $pos (qw(noun verb adj adv)) {
    open my $in, '<', "$folder/data.$pos" or die "wordnet.pl: $folder/data.$pos: $!\n";
    my $letter = { noun => 'n', verb => 'v', adj => 'a', adv => 'r' }->{$pos};
    while (<$in>) {
        next if /^  /;
        chomp;
        my ($data, $gloss) = split / \| /, $_, 2;
        my @f = split / /, $data;
        my $id = "$letter$f[0]";
        my $n = hex $f[3];
        my @words = map { my $w = $f[4 + 2 * $_]; $w =~ tr/_/ /; $w =~ s/\(.*\)//; $w } 0 .. $n - 1;
        my $at = 4 + 2 * $n;
        for my $p (0 .. $f[$at] - 1) {
            my ($sign, $target, $kind, $which) = @f[$at + 1 + 4 * $p .. $at + 4 + 4 * $p];
            $kind = 'a' if $kind eq 's';
            if ($sign eq '@' || $sign eq '@i') { push @{$up{$id}}, "$kind$target" if $kind eq $letter }
            elsif ($sign eq ';c') { push @{$domain{$id}}, "$kind$target" }
            elsif ($sign eq '!' && !defined $opposite{$id}) { $opposite{$id} = ["$kind$target", hex substr($which, 0, 2), hex substr($which, 2, 2)] }
        }
        $gloss =~ s/\s+$//; $gloss =~ tr/`_/' /;
        my @examples;
        my $definition = $gloss;
        if ($gloss =~ /^(.*?)[;:,.]? *"/) {
            $definition = $1;
            while ($gloss =~ /"([^"]{12,})"/g) { my $e = $1; push @examples, $e if $e =~ / .* / && $e !~ /[()\[\]*=]|\.\.\.|--/ }
        }
        $definition =~ s/ ?-- ?/ - /g; $definition =~ s/[;:,. ]+$//; $definition =~ s/^\s+//;
        next if $definition eq '' || bad($gloss) || bad("@words");
        push @ids, $id;
        ($lemma{$id}, $gloss{$id}, $file{$id}) = (\@words, $definition, $f[1] + 0);
        $example{$id} = [map { my $e = ucfirst $_; $e .= '.' if $e !~ /[.!?]$/; $e } @examples] if @examples;
    }
}
for my $id (@ids) { push @{$down{$_}}, $id for grep { $lemma{$_} } @{$up{$id} // []} }

# How many synsets lie below one; the number says whether its name makes a good class.
my %below;
sub below {
    my $id = shift;
    return $below{$id} if defined $below{$id};
    $below{$id} = 0;
    my $n = 0;
    $n += 1 + below($_) for @{$down{$id} // []};
    return $below{$id} = $n;
}
sub ancestors {
    my ($id, $depth) = @_;
    my (@found, %seen);
    my @front = ($id);
    for my $d (1 .. $depth // 18) {
        @front = grep { !$seen{$_}++ && $lemma{$_} } map { @{$up{$_} // []} } @front;
        push @found, @front;
    }
    return @found;
}
my %vague = map { $_ => 1 } ('entity', 'physical entity', 'abstraction', 'thing', 'object', 'whole', 'artifact', 'unit', 'matter', 'part', 'relation', 'attribute', 'state', 'group',
    'collection', 'event', 'act', 'psychological feature', 'cognition', 'content', 'idea', 'concept', 'category', 'kind', 'instrumentality', 'causal agent', 'organism', 'living thing',
    'property', 'quality', 'condition', 'change', 'happening', 'activity', 'action', 'measure', 'definite quantity', 'indefinite quantity', 'person', 'communication', 'structure',
    'device', 'equipment', 'article', 'commodity', 'covering', 'creation', 'product', 'message', 'signal', 'location', 'region', 'area', 'point', 'line', 'substance', 'material',
    'chordate', 'vertebrate', 'placental', 'taxonomic group', 'biological group', 'vascular plant', 'angiosperm', 'dicot genus', 'monocot genus', 'rosid dicot genus', 'genus',
    'social group', 'gathering', 'organization', 'unit of measurement', 'process', 'phenomenon', 'natural object', 'body part', 'natural phenomenon', 'worker', 'adult', 'expert',
    'leader', 'unfortunate', 'unpleasant person', 'bad person', 'inhabitant', 'native', 'European', 'Asian', 'American', 'African', 'object', 'female', 'male', 'juvenile', 'traveler',
    'container', 'mechanism', 'way', 'implement', 'arrangement', 'work', 'knowledge domain', 'discipline', 'occurrence', 'beginning', 'ending', 'motion', 'movement', 'trait',
    'fauna genus', 'family', 'order', 'class', 'phylum', 'arthropod genus', 'bird genus', 'fish genus', 'mammal genus', 'reptile genus', 'fungus genus', 'herb', 'woody plant');
my %class;                                                     # synset => name
for my $id (grep { /^n/ && $gloss{$_} } @ids) {
    my $n = below($id);
    my $name = $lemma{$id}[0];
    next if $n < 18 || $n > 2500 || $vague{$name} || $name !~ /^[a-z]+(?: [a-z]+)?$/ || length $name > 18 || $name =~ /genus|family$|order$/;
    $class{$id} = $name;
}
my @class_names = do { my %s; grep { !$s{$_}++ } map { $class{$_} } sort keys %class };
my @class_plurals = map { Form::plural($_) } @class_names;

my @noun_file = ('', '', '', '', 'activities', 'animals', 'things', '', 'body', 'ideas', 'language', 'events', 'emotions', 'food', 'groups', 'places', '', 'nature', 'people',
    'natural phenomena', 'plants', 'money', '', 'amounts', '', 'shapes', 'conditions', 'substances', 'time', 'body care', 'change', 'thinking', 'speaking', 'competition', 'eating',
    'touching', 'making', 'feelings', 'movement', 'perception', 'buying', 'social life', '', 'weather', '');
my @file_names = grep { $_ ne '' } @noun_file;

sub article { return $_[0] =~ /^(?:[aeio]|u[^nst]|un[^i]|hour|heir|honest)/i && $_[0] !~ /^(?:one|once|eu|ew)/ ? 'an' : 'a' }
sub bare { return ucfirst($gloss{$_[0]}) . '.' }
# A text about a synset: its meaning with or without the word, with or without an example.
sub text {
    my $id = shift;
    my $s = Form::draw(5) < 2 ? join(', ', @{$lemma{$id}}[0 .. ($#{$lemma{$id}} > 1 ? 1 : $#{$lemma{$id}})]) . ": $gloss{$id}." : bare($id);
    $s .= ' ' . Form::pick(@{$example{$id}}) if $example{$id} && Form::draw(3);
    return $s;
}

# --- tagging -------------------------------------------------------------------------------------------------------------------------
my %members;
for my $id (grep { /^n/ } @ids) {
    my %mine;
    my @classes = grep { $class{$_} && !$mine{$class{$_}}++ } ancestors($id, 12);
    next if !@classes || $lemma{$id}[0] =~ /^genus |^[A-Z].* family$/;
    $members{$id} = \@classes;
}
my (%used, @pool);
$Form::closed = 75;                        # few can guess such a narrow class without a list
my @member_ids = sort keys %members;
Form::seed('order of members');
for my $id (Form::shuffled(@member_ids)) {
    Form::seed('kind', $id);
    my @classes = @{$members{$id}};
    my %true = map { ($class{$_} => 1, Form::plural($class{$_}) => 1) } @classes;
    # The nearest class, now and then one above it; no class takes more than its share.
    my $c = $classes[Form::draw(4) ? 0 : Form::draw(scalar @classes)];
    next if $used{$class{$c}}++ > 150;
    my $plural = Form::draw(3);
    my $label = $plural ? Form::plural($class{$c}) : $class{$c};
    my @others = grep { !$true{$_} } $plural ? @class_plurals : @class_names;
    my $text = text($id);
    my @answers = ($label);
    # Texts on two or three things of one class, or of two.
    my $way = Form::draw(5);
    if ($way < 2 && @pool > 50) {
        my $other = $pool[-1 - Form::draw(40)];
        if ($way == 0) {
            my @siblings = grep { $_ ne $id && $members{$_} } @{$down{(grep { $lemma{$_} } @{$up{$id} // []})[0] // ''} // []};
            $text .= ' ' . text(Form::pick(@siblings)) for 1 .. (@siblings ? 1 + Form::draw(2) : 0);
        } elsif (!$true{$other->[1]} && !grep { $class{$_} eq $class{$c} } @{$members{$other->[0]}}) {
            my $second = $plural ? Form::plural($other->[1]) : $other->[1];
            if ($second ne $label) {
                my @two = Form::draw(2) ? ($text, text($other->[0])) : ($text . ' ' . text($other->[0]));
                $text = join ' ', @two;
                push @answers, $second;
                my %theirs = map { ($class{$_} => 1, Form::plural($class{$_}) => 1) } @{$members{$other->[0]}};
                @others = grep { !$theirs{$_} } @others;
            }
        }
    }
    push @pool, [$id, $class{$c}];
    Form::tagging('tag-kind', $text, \@answers, \@others);
}
$Form::closed = 55;
my %domain_name;
for my $id (@ids) { for my $d (@{$domain{$id} // []}) { $domain_name{$d}++ if $lemma{$d} } }
my @domain_names = do { my %s; grep { !$s{$_}++ } map { $lemma{$_}[0] } grep { $domain_name{$_} >= 4 } sort keys %domain_name };
for my $id (@ids) {
    my @d = do { my %s; grep { !$s{$_}++ } map { $lemma{$_}[0] } grep { $lemma{$_} && $domain_name{$_} >= 4 } @{$domain{$id} // []} };
    next if !@d;
    for my $turn (1, 2) {
        Form::seed('field', $id, $turn);
        (my $text = text($id)) =~ s/\([a-z ]+\) //;
        my %near = map { $lemma{$_}[0] => 1 } grep { $lemma{$_} } map { ancestors($_, 6) } @{$domain{$id}};
        Form::tagging('tag-field', $text, [@d > 2 ? @d[0, 1] : @d], [grep { !$near{$_} } @domain_names]);
    }
}
my %per_file;
Form::seed('order of files');
for my $id (Form::shuffled(@ids)) {
    my $name = $noun_file[$file{$id}] // '';
    next if $name eq '' || $per_file{$name}++ >= 250;
    Form::seed('file', $id);
    Form::tagging('tag-file', text($id), [$name], \@file_names);
}

# --- actions and feelings ------------------------------------------------------------------------------------------------------------
my @verbs = do { my %s; grep { /^[a-z]+$/ && !$s{$_}++ } map { $lemma{$_}[0] } grep { /^v/ && below($_) >= 3 } @ids };
my %per_verb;
for my $id (grep { /^v/ && $example{$_} } @ids) {
    my ($parent) = grep { $lemma{$_} && $lemma{$_}[0] =~ /^[a-z]+$/ } @{$up{$id} // []};
    my $verb = $lemma{$id}[0];
    next if $verb !~ /^[a-z]+$/;
    for my $e (@{$example{$id}}) {
        Form::seed('action', $id, $e);
        my $label = $parent && Form::draw(2) ? $lemma{$parent}[0] : $verb;
        next if $per_verb{$label}++ >= 12;
        my $instruction = Form::pick('Name the action in the text.', 'Tag the text with its action.', 'Which action does the text tell of?', 'Tag the text with the actions in it.');
        if (Form::draw(2)) {
            my %s = ($verb => 1, $label => 1);
            $instruction =~ s/[.?]$//;
            $instruction .= ', one of: ' . join(', ', Form::shuffled($label, grep { !$s{$_}++ } map { Form::pick(@verbs) } 1 .. 3 + Form::draw(8))) . '.';
        }
        Form::row('actions', $instruction, $e, Form::json_list('actions', $label));
    }
}
my %feeling = (joy => 'joy', sadness => 'sadness', anger => 'anger', fear => 'fear', love => 'love', surprise => 'surprise', astonishment => 'surprise', gratitude => 'gratitude', pride => 'pride',
    shame => 'shame', anxiety => 'worry', hope => 'hope', hate => 'hate', desire => 'desire', pleasure => 'pleasure', pain => 'pain', sympathy => 'sympathy', embarrassment => 'shame',
    happiness => 'joy', sorrow => 'sadness', dislike => 'dislike', contentment => 'contentment', enthusiasm => 'enthusiasm', jealousy => 'jealousy', regret => 'regret', calmness => 'calm', wonder => 'wonder');
my @feelings = do { my %s; grep { !$s{$_}++ } map { $feeling{$_} } sort keys %feeling };
for my $id (grep { /^n/ && $file{$_} == 12 } @ids) {
    my ($label) = grep { defined } map { my $a = $_; map { $feeling{$_} } @{$lemma{$a}} } $id, ancestors($id, 5);
    next if !defined $label;
    for my $s (bare($id), @{$example{$id} // []}) {
        Form::seed('feeling', $s);
        my $list = Form::draw(2) ? ' Choose from: ' . join(', ', do { my %s; grep { !$s{$_}++ } Form::shuffled($label, map { Form::pick(@feelings) } 1 .. 5) }) . '.' : '';
        Form::row('emotions', Form::pick('Which emotion does the text speak of?', 'Tag the text with its emotion.', 'Name the feeling in the text.') . $list, $s, Form::json_list('emotions', $label));
    }
}

# --- words ---------------------------------------------------------------------------------------------------------------------------
my %plain = (n => 'noun', v => 'verb', a => 'adjective', r => 'adverb');
my %first;                                                     # a word's first synset in the order of the files
for my $id (@ids) { $first{$_} //= $id for @{$lemma{$id}} }
for my $id (@ids) {
    my @words = @{$lemma{$id}};
    my $w = $words[0];
    next if $w =~ /[^A-Za-z '-]/ || length $w > 30 || $file{$id} == 3 || $gloss{$id} =~ /^(?:any|a) (?:of various |of several )?(?:plant|fish|tree|herb|shrub)s? of the genus/;
    my $letter = substr $id, 0, 1;
    Form::seed('word', $id);
    my $way = Form::draw(12);
    my $a = article($w);
    if ($way < 2 && $letter eq 'n' && $w !~ /^[A-Z]/) {
        my $system = Form::pick('', '', 'Answer in one sentence.', 'You explain words.');
        my $g = $gloss{$id};
        my $is = $g =~ /^(?:a|an|the|any|one|someone|something|two|some) / ? ucfirst("$a $w is $g.") : "\u$w: $g.";
        Form::row('what-is', $system, Form::pick("What is $a $w?", "What is meant by $w?", "Explain the word $w.", "What does the word $w mean?"), $is);
    } elsif ($way < 2 && $letter eq 'n' && $gloss{$id} =~ /^[a-zA-Z].{15}/) {
        Form::row('what-is', '', Form::pick("Who or what is $w?", "Tell me about $w in one sentence.", "What is $w?"), "$w: $gloss{$id}.");
    } elsif ($way == 2 && $letter ne 'n') {
        Form::row('what-is', Form::pick('', 'You explain words.'), Form::pick("What does the $plain{$letter} $w mean?", "Explain the $plain{$letter} $w."), "\u$w: $gloss{$id}.");
    } elsif ($way == 3) {
        Form::row('word-for', Form::pick('', 'Answer with one word.', 'Find the word.'), Form::pick("Which word means: $gloss{$id}?", "What do you call this: $gloss{$id}?", "Find the $plain{$letter} for: $gloss{$id}."), $w);
    } elsif ($way == 4 && @words > 1) {
        my @s = grep { $_ ne $w } @words;
        Form::row('synonyms', Form::pick('', 'Answer in JSON.', 'List the synonyms as JSON.'), Form::pick("Give synonyms of $w ($gloss{$id}).", "Which words mean the same as $w, in the sense of $gloss{$id}?"), Form::json_list('synonyms', @s[0 .. ($#s > 3 ? 3 : $#s)]));
    } elsif ($way == 5 && $example{$id}) {
        Form::row('example', '', Form::pick("Use the $plain{$letter} $w in a sentence.", "Give an example with the word $w.", "Write a sentence with $w ($gloss{$id})."), Form::pick(@{$example{$id}}));
    } elsif ($way == 6 && $members{$id} && Form::draw(2)) {
        my ($c) = @{$members{$id}};
        my $yes = Form::draw(2);
        my %true = map { $class{$_} => 1 } @{$members{$id}};
        my $other = Form::pick(@class_names);
        next if !$yes && $true{$other};
        my $k = $yes ? $class{$c} : $other;
        my $system = Form::pick('', 'Answer yes or no.', 'Answer in one sentence.');
        my $answer = $yes ? "Yes, $a $w is a kind of $k." : "No, $a $w is a kind of $class{$c}.";
        $answer =~ s/,.*/./ if $system =~ /yes or no/;
        Form::row('is-kind', $system, "Is $a $w a kind of $k?", $answer);
    } elsif ($way == 7 && $members{$id} && $w !~ /^[A-Z]/) {
        my ($c) = @{$members{$id}};
        Form::row('kind', Form::pick('', 'Answer in one sentence.'), Form::pick("What kind of thing is $a $w?", "To which class does $a $w belong?"), ucfirst("$a $w is a kind of $class{$c}."));
    } elsif ($way == 8 && @{$down{$id} // []} >= 3 && $letter eq 'n') {
        my @kinds = grep { !/^[A-Z]/ || $w =~ /^[A-Z]/ } map { $lemma{$_}[0] } @{$down{$id}};
        next if @kinds < 3;
        Form::row('kinds', Form::pick('', 'Answer in JSON.'), Form::pick("Name some kinds of $w.", "List examples of $w."), Form::json_list('kinds', (Form::shuffled(@kinds))[0 .. ($#kinds > 4 ? 4 : $#kinds)]));
    }
    if ($opposite{$id}) {
        my ($to, $from_word, $to_word) = @{$opposite{$id}};
        next if !$lemma{$to} || !$from_word || !$to_word;
        my ($x, $y) = ($words[$from_word - 1], $lemma{$to}[$to_word - 1]);
        Form::row('opposite', '', Form::pick("What is the opposite of $x?", "Give the opposite of the $plain{$letter} $x."), $y) if defined $x && defined $y;
    }
}
