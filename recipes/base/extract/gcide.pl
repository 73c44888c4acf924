#!/usr/bin/perl
# The Collaborative International Dictionary of English, as dictd holds it: gcide.pl < gcide.dict
#
# Writes one sense or note a line, "Headword, noun. (Anatomy) The belly ...", some entries in a row and then a blank line. Left out are
# etymologies, pronunciations, senses marked as obsolete, quotations in the English of 1600, and what was taken from WordNet.
use strict;
use warnings;
use bytes;

my %field = (
    'Agric.' => 'Agriculture', 'Anat.' => 'Anatomy', 'Anc. Hist.' => 'Ancient history', 'Antiq.' => 'Antiquity', 'Arch.' => 'Architecture',
    'Arith.' => 'Arithmetic', 'Astrol.' => 'Astrology', 'Astron.' => 'Astronomy', 'Bacteriol.' => 'Bacteriology', 'Bib.' => 'Bible',
    'Biochem.' => 'Biochemistry', 'Biol.' => 'Biology', 'Bookkeeping' => 'Bookkeeping', 'Bot.' => 'Botany', 'Carp.' => 'Carpentry',
    'Chem.' => 'Chemistry', 'Civ. Law' => 'Law', 'Com.' => 'Commerce', 'Computers' => 'Computers', 'Cookery' => 'Cooking',
    'Crystallog.' => 'Crystallography', 'Eccl.' => 'Church', 'Eccl. Hist.' => 'Church history', 'Elec.' => 'Electricity',
    'Electronics' => 'Electronics', 'Engin.' => 'Engineering', 'Eng. Law' => 'Law', 'Ethnol.' => 'Peoples', 'Fort.' => 'Fortification',
    'Founding' => 'Metal casting', 'Gram.' => 'Grammar', 'Geog.' => 'Geography', 'Geol.' => 'Geology', 'Geom.' => 'Geometry',
    'Gunnery' => 'Gunnery', 'Gun.' => 'Gunnery', 'Gr. Antiq.' => 'Ancient Greece', 'Rom. Antiq.' => 'Ancient Rome', 'Her.' => 'Heraldry',
    'Hist.' => 'History', 'Hort.' => 'Gardening', 'Immunol.' => 'Immunology', 'Law' => 'Law', 'Logic' => 'Logic', 'Mach.' => 'Machines',
    'Man.' => 'Horsemanship', 'Manege' => 'Horsemanship', 'Masonry' => 'Masonry', 'Math.' => 'Mathematics', 'Mech.' => 'Mechanics',
    'Med.' => 'Medicine', 'Metal.' => 'Metals', 'Metaph.' => 'Philosophy', 'Meteor.' => 'Weather', 'Meteorol.' => 'Weather',
    'Mil.' => 'Military', 'Min.' => 'Minerals', 'Mining' => 'Mining', 'Mus.' => 'Music', 'Myth.' => 'Mythology',
    'Gr. Myth.' => 'Greek mythology', 'Class. Myth.' => 'Mythology', 'Rom. Myth.' => 'Roman mythology', 'Naut.' => 'Ships', 'Nav.' => 'Navigation',
    'Numis.' => 'Coins', 'Opt.' => 'Optics', 'Paint.' => 'Painting', 'Pathol.' => 'Disease', 'Pharm.' => 'Drugs', 'Philol.' => 'Language',
    'Philos.' => 'Philosophy', 'Phon.' => 'Speech sounds', 'Phonetics' => 'Speech sounds', 'Photog.' => 'Photography', 'Physics' => 'Physics',
    'Physiol.' => 'Physiology', 'Polit. Econ.' => 'Economics', 'Print.' => 'Printing', 'Pros.' => 'Verse', 'Psychol.' => 'Psychology',
    'Rhet.' => 'Rhetoric', 'R. C. Ch.' => 'Roman Catholic Church', 'Script.' => 'Bible', 'Sculp.' => 'Sculpture', 'Sports' => 'Sports',
    'Stock Exchange' => 'Stock exchange', 'Surg.' => 'Surgery', 'Surv.' => 'Surveying', 'Teleg.' => 'Telegraphy', 'Theol.' => 'Theology',
    'Theat.' => 'Theatre', 'Typog.' => 'Printing', 'Weaving' => 'Weaving', 'Zool.' => 'Zoology', 'Paleon.' => 'Fossils', 'Anthropol.' => 'Peoples',
    'Alg.' => 'Algebra', 'Steam Engine' => 'Steam engines', 'Steam Engin.' => 'Steam engines', 'Railroads' => 'Railways', 'Railroad' => 'Railways',
    'Naval' => 'Navy', 'Furniture' => 'Furniture', 'Fine Arts' => 'Fine arts', 'Shipbuilding' => 'Shipbuilding', 'Genetics' => 'Genetics',
    'Geometry' => 'Geometry', 'Aeronautics' => 'Aviation', 'Aviation' => 'Aviation', 'Mensuration' => 'Measurement', 'Politics' => 'Politics',
    'Baseball' => 'Baseball', 'Football' => 'Football', 'Cricket' => 'Cricket', 'Golf' => 'Golf', 'Card Playing' => 'Card games',
    'Billiards' => 'Billiards', 'Chess' => 'Chess', 'Fencing' => 'Fencing', 'Tennis' => 'Tennis', 'Dyeing' => 'Dyeing', 'Finance' => 'Finance',
    'Insurance' => 'Insurance', 'Brewing' => 'Brewing', 'Tanning' => 'Leather', 'Pottery' => 'Pottery', 'Sewing' => 'Sewing', 'Dentistry' => 'Dentistry',
    'Jewish Antiq.' => 'Jewish antiquity', 'Ecology' => 'Ecology', 'Microbiology' => 'Microbiology', 'Anthropology' => 'Peoples',
);
my %part = (
    'n.' => 'noun', 'a.' => 'adjective', 'adj.' => 'adjective', 'adv.' => 'adverb', 'v. t.' => 'verb', 'v. i.' => 'verb', 'v.' => 'verb',
    'prep.' => 'preposition', 'conj.' => 'conjunction', 'interj.' => 'interjection', 'pron.' => 'pronoun', 'n. pl.' => 'plural noun',
    'v. t. & i.' => 'verb', 'prop. n.' => 'name', 'pr. n.' => 'name', 'a. & n.' => 'adjective', 'v. i. & t.' => 'verb',
);

sub plain {
    my $s = shift;
    $s =~ s/\[(?:1913 Webster|Webster|WordNet|PJC|Century|RH|AS|RP|AH)[^\]]*\](?: (?:--|[A-Za-z]).*)?$//;
    $s =~ s/\[(?:1913 Webster|Webster|WordNet|PJC|Century|RH|AS|RP|AH)[^\]]*\]//g;
    $s =~ s/\[(?:R|Obs|Colloq|Slang|Poet|Poetic|Eng|U\. ?S|Cant|Low|Rare|Humorous|L|F)\.?\]//g;
    $s =~ s/\[(ae|oe|AE|OE)\]/$1/g;
    $s =~ s/\[[\^'"`~,=.:*-]*([a-zA-Z]{1,2})[\^'"`~,=.:*-]*\]/$1/g;
    $s =~ s/[{}]//g;
    $s =~ s/\s+--\s*/ - /g;
    $s =~ s/\s+/ /g;
    $s =~ s/^ | $//g;
    $s =~ s/ \. \. \./.../g;
    $s =~ s/ ([,;:.!?])/$1/g;
    return $s;
}

# The first mark of a field of knowledge in round brackets is written in full; others go.
sub with_field {
    my $s = shift;
    my $seen = '';
    $s =~ s{\(((?:[A-Z][A-Za-z.]*[ &]*){1,3})\),?}{
        my $name = $1; my $full = $field{$name} // $field{(split / & /, $name)[0]};
        !defined $full ? "($name)" : $seen eq '' ? do { $seen = $full; '' } : '' }ge;
    $s =~ s/  +/ /g; $s =~ s/^ | $//g;
    $s =~ s/^(\d+\. )?/defined $1 ? $1 : ''/e;
    return $seen eq '' ? $s : "($seen) $s";
}

my ($word, $kind, $length) = ('', '', 0);
my @out;
sub flush_document {
    print "$_\n" for @out;
    print "\n" if @out;
    @out = ();
    $length = 0;
}

sub block {
    my ($text, $indent) = @_;
    return if $word eq '' || $text =~ /\[WordNet|\[Obs\.?\]|\[Prov\.|\[Scot\.|\[Archaic|Obs\. or/;
    return if $text =~ /^Note: \[/;
    my $s = plain($text);
    return if $s eq '' || $s =~ /^(?:Cf|See|Same as|One who|\W*$)/ && length $s < 40;
    if ($indent >= 9 && $s !~ /^\d+\. /) {                 # a quotation
        my $who = $s =~ s/\s*(?:--?|- )\s*([A-Z][A-Za-z. ]{2,40})\.?$// ? $1 : '';
        return if $who eq '' || length $s < 40 || $who =~ /Shak|Chaucer|Spenser|Bible|Wyclif|Gower|Milton|Piers|Drayton|Fairfax|Herrick|Beau/;
        return if $s =~ /\b(?:thou|thee|thy|hath|doth|ye|didst|hast|wilt|shalt|art|'t|o'er|e'en|ne'er)\b/i;
        $who =~ s/^Sir [A-Z]\. //; $who =~ s/\.$//;
        $s =~ s/"//g;
        $s = "\"$s\" ($who)" if $s =~ /[.!?]$/;
        return if $s !~ /^"/;
    } elsif ($s =~ s/^Syn: //) {
        $s =~ s/^- //;
        return if length $s < 12;
        $s = length $s > 250 || $s =~ /\. -/ ? $s : lcfirst $s;
        my ($list, $usage) = $s =~ /^(.*?)(?:\.\s+-?\s*Usage: (.*))?$/;
        $list =~ s/\. See .*//; $list =~ s/[.;, ]+$//; $list =~ s/;/,/g;
        $s = "Words like " . lc($word) . ": " . lcfirst($list) . ".";
    } elsif ($s =~ s/^(?:Note|Usage): //) {
        return if length $s < 60;
    } else {
        $s =~ s/^(\d+)\. (?:\d+ )?//;
        $s =~ s/^\([a-z]\) //;
        $s =~ s/ (\([a-z]\)) / /g;
        $s =~ s/\[[^\]]*\]//g;
        $s =~ s/ - [A-Z][A-Za-z. ()]{2,30}\.?$//;
        $s = with_field($s);
        return if length $s < 12;
        $s = "$word, $kind. $s" if $kind ne '';
        $s = "$word: $s" if $kind eq '';
    }
    $s =~ s/  +/ /g; $s =~ s/ ([,;:.])/$1/g; $s =~ s/^ | $//g; $s =~ s/[;:,]$/./;
    $s .= '.' if $s !~ /[.!?")]$/;
    return if $s =~ /[\[\]\\<>|=*^~]|\?\?|[a-z]`[a-z]/;
    push @out, $s;
    $length += length $s;
}

my ($text, $indent, $on) = ('', 0, 0);
while (my $line = <STDIN>) {
    chomp $line;
    if ($line =~ /^(\S.*?) \\[^\\]*\\?(?:,? ?(.*))?$/) {      # an entry: headword \pronunciation\, part of speech
        my ($new, $rest) = ($1, $2 // '');
        block($text, $indent) if $text ne '';
        $text = ''; $on = 1;
        flush_document() if $length > 2400;
        $word = plain($new);
        $word = '' if $word !~ /^[A-Za-z][A-Za-z' -]*$/ || length $word > 40;
        my ($tag) = $rest =~ /((?:prop\. n|pr\. n|v\. t\. & i|v\. i\. & t|v\. t|v\. i|n\. pl|a\. & n|adj|adv|prep|conj|interj|pron|n|a|v)\.)(?: |,|;|$)/;
        $kind = defined $tag ? $part{$tag} // '' : '';
        $text = $1 if $rest =~ /((?:\([A-Z][A-Za-z.]*\)\s*)+)$/;     # the field of the first sense stands here
        $text = "$text " if $text ne '';
        $indent = 3;
        # The etymology may go on over lines: until its bracket closes, nothing is text.
        my $open = () = $rest =~ /\[/g; my $close = () = $rest =~ /\]/g;
        $on = $open > $close ? 2 : 1;
        next;
    }
    next if !$on;
    if ($line =~ /^\S/) { block($text, $indent) if $text =~ /\S/; $text = ''; next }    # another spelling of the headword
    if ($on == 2) {
        $text = '';
        if ($line =~ /\]/) { $on = 1; $text = "$1 " if $line =~ /\]\s*((?:\([A-Z][A-Za-z.]*\)\s*)+)$/ }
        $on = 1 if $line eq '';
        next;
    }
    if ($line =~ /^\s*$/) { block($text, $indent) if $text =~ /\S/; $text = ''; next }
    my ($space) = $line =~ /^( *)/;
    if ($text !~ /[a-z]{3}/) { $indent = length $space }
    elsif ($line =~ /^   (?:  )?\d+\. |^   \{/ || $line =~ /^ +(?:Syn|Note|Usage): /) { block($text, $indent); $text = ''; $indent = length $space }
    next if $line =~ /^\s*\[(?:1913 Webster|Webster|WordNet|PJC)[^\]]*\]\s*$/ && $line !~ /WordNet/;
    $text .= ($text eq '' || $text =~ / $/ ? '' : ' ') . substr $line, length $space;
}
block($text, $indent) if $text ne '';
flush_document();
