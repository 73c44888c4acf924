#!/usr/bin/perl
# Examples out of the corpus's documents: documents.pl < documents (source, tab, document with \001 for the ends of lines)
#
# Tagging of dictionary senses by their field and of passages by the subject of their source; headings as titles of what follows; key words;
# years and names in a passage; meanings of words.
use strict;
use warnings;
use bytes;
use FindBin;
use lib $FindBin::Bin;
use Form;

# What a source is about, the narrowest name first.
my %about = (
    anarchism => ['anarchism', 'politics', 'society'], bible => ['Bible', 'religion'], henry => ['Bible commentary', 'religion'], spurgeon => ['psalms', 'religion'],
    skies => ['space travel', 'science fiction'], crossfire => ['fantasy', 'games'], gearhead => ['robots', 'science fiction'], crawl => ['monsters', 'fantasy', 'games'],
    angband => ['dungeons', 'games'], backgammon => ['backgammon', 'games'], cards => ['card games', 'games'], music => ['ear training', 'music'], lilypond => ['sheet music', 'music'],
    budget => ['budgets', 'money'], bank => ['personal finance', 'money'], phylogeny => ['evolution', 'biology'], elements => ['chemistry', 'science'], state => ['law', 'government'],
    'mh-book' => ['e-mail', 'computers'], gnome => ['computer help', 'computers'], libreoffice => ['office work', 'computers'], fontforge => ['fonts', 'design'],
    git => ['version control', 'programming'], python => ['Python', 'programming'], postgresql => ['databases', 'computers'], sqlite => ['databases', 'computers'],
    django => ['web development', 'programming'], sqlalchemy => ['databases', 'programming'], twisted => ['networking', 'programming'], apache => ['web servers', 'internet'],
    exim => ['mail servers', 'internet'], rt => ['support tickets', 'office work'], shorewall => ['firewalls', 'security'], security => ['computer security', 'security'],
    pspp => ['statistics', 'mathematics'], r => ['statistics', 'programming'], octave => ['numerical computing', 'mathematics'], gap => ['algebra', 'mathematics'],
    manpages => ['Linux', 'computers'], 'manpages-dev' => ['system calls', 'programming'], perl => ['Perl', 'programming'], racket => ['Racket', 'programming'],
    erlang => ['Erlang', 'programming'], llvm => ['compilers', 'programming'], cpp => ['C++', 'programming'], linux => ['operating systems', 'computers'], 'bash-guide' => ['shell scripts', 'programming'],
    austen => ['English novel', 'fiction'], mobydick => ['whaling', 'fiction'], twain => ['boyhood', 'fiction'], doyle => ['detective story', 'fiction'], jargon => ['hacker slang', 'computers'],
);
my %subject = (
    'animals' => ['animals'], 'birds' => ['birds', 'animals'], 'fish and the sea' => ['fish', 'sea'], 'painting and art' => ['art', 'painting'], 'cooking' => ['cooking', 'kitchen'], 'food and meals' => ['food'],
    'drinks' => ['drinks'], 'money and banking' => ['money', 'finance', 'banking'], 'business and trade' => ['business', 'trade'], 'plants and gardens' => ['plants', 'gardening'],
    'fruit and vegetables' => ['fruit', 'vegetables', 'food'], 'farming' => ['farming', 'agriculture'], 'medicine and health' => ['health', 'medicine'], 'the human body' => ['body', 'anatomy'],
    'law and courts' => ['law'], 'music' => ['music'], 'astronomy and space' => ['space', 'astronomy'], 'sports' => ['sports', 'sport'], 'games and play' => ['games'], 'computers' => ['computers', 'technology'],
    'electronics and telephones' => ['electronics', 'technology'], 'travel' => ['travel'], 'ships and aircraft' => ['ships', 'aviation', 'transport'], 'cities and countries' => ['geography', 'places'],
    'war and soldiers' => ['war', 'military'], 'religion' => ['religion'], 'mathematics' => ['mathematics', 'math'], 'chemistry' => ['chemistry'], 'language and grammar' => ['language', 'grammar'],
    'books and writing' => ['books', 'writing'], 'weather' => ['weather'], 'clothes and fashion' => ['clothes', 'fashion'], 'politics and government' => ['politics', 'government'], 'the house and its rooms' => ['home', 'housing'],
    'building and tools' => ['building', 'tools'], 'time and the calendar' => ['time'], 'family and children' => ['family'], 'school and study' => ['school', 'education'], 'dance and theatre' => ['theatre', 'dance'],
    'stones and metals' => ['minerals', 'geology'], 'physics and energy' => ['physics', 'energy'], 'work and jobs' => ['work', 'jobs'], 'old stories and myths' => ['mythology', 'myths'], 'feelings' => ['feelings', 'emotions'],
);
my @subjects = do { my %s; grep { !$s{$_}++ } map { @{$subject{$_}} } sort keys %subject };
my @abouts = do { my %s; grep { !$s{$_}++ } map { @{$about{$_}} } sort keys %about };
my %stop = map { $_ => 1 } qw(about above after again against all also although always among and another any anything are around because been before being below between both but called can cannot case
    could does doing done down each either else even every example few following for from further get gets give given gives got had has have having here how however instead into its itself just kind
    know known last least less let like made make makes making many may means might more most much must name names need needed needs never next none nor not note nothing now number often once one
    only other others otherwise our out over own part particular perhaps possible rather same say says second see seen set several shall she should simply since some something still such sure take
    than that the their them then there therefore these they thing things this those though three through thus time too two type under until upon use used useful user users uses using usually value
    very want was way well were what when where whether which while who whose why will with within without word would yet you your first new noun verb adjective adverb who him his her said);

my (%idf, $passages);                       # how many passages hold a word, from those seen so far
sub key_words {
    my $s = shift;
    my (%n, %form);
    for my $w ($s =~ /\b([A-Za-z][a-z]{3,})\b/g) { my $l = lc $w; next if $stop{$l} || $l =~ /(?:ly|ed)$/; (my $stem = $l) =~ s/s$//; $n{$stem}++; $form{$stem} //= $l }
    my %score = map { $_ => $n{$_} * log((1 + $passages) / (1 + ($idf{$_} // 0))) } keys %n;
    my @best = (sort { $score{$b} <=> $score{$a} || $a cmp $b } grep { ($idf{$_} // 0) >= 3 } keys %n);
    $passages++;
    $idf{$_}++ for keys %n;
    return if $passages < 5000 || @best < 6;
    # In the order of the text.
    my $low = lc $s;
    return sort { index($low, $a) <=> index($low, $b) } map { $form{$_} } @best[0 .. 2 + Form::draw(3)];
}
$passages = 0;

my (%used, @recent, %field_used);
my (@fields, %fields);
sub label_field { my $f = lc shift; push @fields, $f if ++$fields{$f} == 4; return $f }

sub passages {
    my ($name, $lines) = @_;
    my @now;
    for my $i (0 .. $#$lines) {
        my $line = $lines->[$i];
        if ($line =~ s/^\002//) {
            # A heading and what follows it.
            my $text = $lines->[$i + 1] // '';
            next if $text eq '' || $text =~ /^[\002-]/ || length $line < 8 || $line !~ / / || $line =~ /^(?:CHAPTER|Chapter|Verse|Part|Section|Appendix)\b/;
            $text .= "\001$lines->[$i + 2]" if length $text < 250 && ($lines->[$i + 2] // '') =~ /^[^\002-]/;
            $text = Form::beginning($text, 650);
            my $shared = grep { length > 3 && !$stop{lc $_} && index(lc $text, lc substr $_, 0, 5) >= 0 } $line =~ /[A-Za-z]+/g;
            next if length $text < 120 || !$shared || $used{"title $name"}++ > 900;
            Form::seed('title', $line, $text);
            my $instruction = Form::pick('Give the text a title.', 'Summarise the text in one line.', 'Write a heading for the text.', 'Sum up the text in a few words.', 'What is the text about? Answer in a few words.', 'Write a one-line summary.');
            Form::draw(5) ? Form::row('title', $instruction, $text, $line) : Form::row('title', '', "$instruction\n$text", $line);
            next;
        }
        $line =~ s/^- //;
        my $text = Form::beginning($line, 480);
        next if length $text < 90;
        Form::seed('passage', $text);
        my $way = Form::draw(16);
        if ($about{$name} && $way < 5 && $used{"about $name"}++ < 700) {
            my @own = @{$about{$name}};
            my @answers = ($own[Form::draw(scalar @own)]);
            @answers = @own if Form::draw(4) == 0;
            my %own = map { $_ => 1 } @own;
            my $other = Form::pick(@recent, undef);
            if ($other && Form::draw(5) == 0 && !grep { $own{$_} } @{$about{$other->[0]}}) {
                $text .= "\001$other->[1]";
                $own{$_} = 1 for @{$about{$other->[0]}};
                push @answers, $about{$other->[0]}[-1] if @answers < 3;
            }
            Form::tagging('tag-passage', $text, \@answers, [grep { !$own{$_} } @abouts]);
            unshift @recent, [$name, $text] if length $text < 350;
            pop @recent if @recent > 200;
        } elsif ($way == 5 && $used{"key $name"}++ < 1200) {
            my @k = key_words($text) or next;
            Form::row('key-words', Form::pick('List the key words of the text as JSON.', 'Extract the key words.', 'Give three to five key words of the text.', 'Which words matter most in the text? Answer in JSON.'), $text, Form::json_list('keywords', @k));
        } elsif ($way == 6 && (my @years = $text =~ /\b(1[0-9]{3}|20[01][0-9])\b(?![.,]\d|-| bytes| bits)/g)) {
            my %s; @years = grep { !$s{$_}++ } @years;
            next if $used{"years"}++ > 2500;
            Form::row('years', Form::pick('List the years in the text as JSON.', 'Which years does the text name? Answer in JSON.'), $text, Form::json_list('years', @years));
        } elsif ($way == 7 && $used{"names $name"}++ < 120) {
            my %s;
            my @names = grep { !$s{$_}++ } $text =~ /(?<=[a-z,] )((?:Mr|Mrs|Miss|Sir|Lady|Captain|Dr|St|Professor|King|Queen|Lord)\.? [A-Z][a-z]+(?: [A-Z][a-z]+)?|[A-Z][a-z]+(?: [A-Z]\.)? [A-Z][a-z]+)(?![a-z])/g;
            next if !@names || @names > 6;
            Form::row('names', Form::pick('List the names in the text as JSON.', 'Which names of two words or with a title does the text hold? Answer in JSON.', 'Extract the names.'), $text, Form::json_list('names', @names));
        } elsif ($way == 8 && $used{"first $name"}++ < 60 && $text =~ /^(.{40,200}?[.!?]) (?=[A-Z])/) {
            Form::row('sentence', Form::pick('Repeat the first sentence of the text.', 'Quote the first sentence.'), $text, $1);
        }
    }
}

sub entries {
    my ($name, $lines) = @_;
    for my $line (@$lines) {
        Form::seed('entry', $line);
        if ($line =~ /^(.{2,40}?)(?:, ([a-z ]+)\.|:) \(([A-Z][A-Za-z ]+)\) (.{25,})$/ || $line =~ /^(.{2,40}?) ()\(([a-z][a-z, ]+)\): (.{25,})$/) {
            my ($word, $kind, $field, $text) = ($1, $2, $3, Form::beginning($4, 420));
            next if $text eq '';
            my @labels = map { label_field($_) } split /, /, $field;
            if ($field_used{$field}++ < 900 && @fields > 8) {
                my %mine = map { $_ => 1 } @labels;
                my $shown = Form::draw(2) ? $text : "$word: $text";
                Form::tagging('tag-entry', $shown, [@labels > 3 ? @labels[0 .. 2] : @labels], [grep { !$mine{$_} } @fields]);
            }
            if (Form::draw(4) == 0) { Form::row('what-is', Form::pick('', 'You explain words.'), Form::pick("What does $word mean in " . lc($field) . "?", "Explain $word."), ucfirst Form::beginning($text, 260)) }
        } elsif ($line =~ /^([A-Za-z][A-Za-z -]{2,24}), (noun|verb|adjective|adverb)\. (.{20,})$/ && Form::draw(6) == 0) {
            my ($word, $kind, $text) = ($1, $2, Form::beginning($3, 260));
            Form::row('what-is', Form::pick('', '', 'You explain words.'), Form::pick("What does the $kind " . lc($word) . " mean?", "Explain the word " . lc($word) . ".", "Define " . lc($word) . '.'), $text) if $text ne '';
        } elsif ($line =~ /^Words like ([a-z -]+): (.+)\.$/ && Form::draw(2)) {
            my @s = grep { /^[A-Za-z' -]+$/ } split /, /, $2;
            Form::row('synonyms', Form::pick('', 'Answer in JSON.'), Form::pick("Give synonyms of $1.", "Which words are like $1?", "List words with a meaning near to $1."), Form::json_list('synonyms', map { lcfirst } @s[0 .. ($#s > 4 ? 4 : $#s)])) if @s > 1;
        }
    }
}

# Documents that begin "Words about SUBJECT: ..." and go on with meanings of its words.
sub subjects {
    my $lines = shift;
    my ($name) = $lines->[0] =~ /^Words about ([a-z ]+):/ or return;
    my $labels = $subject{$name} or return;
    my %mine = map { $_ => 1 } @$labels;
    my @others = grep { !$mine{$_} } @subjects;
    my @meanings = @$lines[1 .. $#$lines];
    for my $i (0 .. $#meanings, 0 .. $#meanings, 0 .. $#meanings) {
        Form::seed('subject', ++$passages, $meanings[$i]);
        my @parts = ($meanings[$i], map { Form::pick(@meanings) } 1 .. Form::draw(3));
        my %s;
        @parts = grep { !$s{$_}++ } @parts;
        for (@parts) { s/^[^:.]*: // if Form::draw(2); $_ = ucfirst }
        my @answers = ($labels->[Form::draw(3) ? 0 : Form::draw(scalar @$labels)]);
        my $other = Form::pick(@recent, undef);
        my $text = join ' ', @parts;
        my @wrong = @others;
        if ($other && $other->[0] =~ s/^subject //r && $other->[0] =~ /^subject (.*)/ && $1 ne $name && Form::draw(4) == 0) {
            my $theirs = $subject{$1};
            if (!grep { $mine{$_} } @$theirs) {
                $text = Form::draw(2) ? "$text $other->[1]" : "$other->[1] $text";
                push @answers, $theirs->[0];
                my %t = map { $_ => 1 } @$theirs;
                @wrong = grep { !$t{$_} } @wrong;
            }
        }
        next if $text !~ / .* .* .* /;
        Form::tagging('tag-subject', $text, \@answers, \@wrong);
        unshift @recent, ["subject $name", $parts[0]];
        pop @recent if @recent > 200;
    }
}

my @topics;
while (my $row = <STDIN>) {
    chomp $row;
    my ($name, $document) = split /\t/, $row, 2;
    my @lines = split /\001/, $document;
    if ($name eq 'topics') { push @topics, \@lines }
    elsif ($name eq 'gcide' || $name eq 'foldoc') { entries($name, \@lines) }
    elsif ($name eq 'wordnet' || $name eq 'descriptions') { next }
    else { passages($name, \@lines) }
}
@recent = ();
subjects($_) for @topics;
