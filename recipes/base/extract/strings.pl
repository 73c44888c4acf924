#!/usr/bin/perl
# Sentences out of the data of games: strings.pl KIND FILE...
#
# KIND sky: strings between back quotes and after "description" (Endless Sky); help: strings of gettext calls (freeciv); wml: message,
# story and description of Wesnoth's markup; entries: paragraphs after a name, parted by lines of % (Crawl); msg: lines between msg and endmsg,
# and "text" of JSON (Crossfire); angle: sentences in angle brackets (GearHead).
# Writes a paragraph a line; a blank line ends a document.
use strict;
use warnings;
use bytes;

my $kind = shift // '';
my %name = (
    planet => 'New Boston', destination => 'the planet Earth', origin => 'the station', payment => '80,000 credits', npc => 'the Sparrow',
    cargo => 'twelve tons of grain', commodity => 'food', bunks => 'eight', date => 'Monday', system => 'Sol', last => 'Reed', first => 'Captain',
    passengers => 'the passengers', tons => 'twelve tons', stopovers => 'the other ports', ship => 'the ship', day => 'Monday',
);

sub put {
    my $s = shift;
    $s =~ s/<([a-z]+)>/$name{$1} \/\/ "<"/ge;
    $s =~ s/\s+/ /g; $s =~ s/^ | $//g;
    return 0 if length $s < 8 || $s !~ / / || $s =~ /[<>|@\$\\{}]/;
    print "$s\n";
    return length $s;
}

for my $file (@ARGV) {
    open my $handle, '<', $file or die "strings.pl: $file: $!\n";
    binmode $handle;
    local $/;
    my $s = <$handle>;
    close $handle;
    my $written = 0;
    if ($kind eq 'sky') {
        for my $line (split /\n/, $s) {
            if ($line =~ /^\S/ || $line =~ /^\tconversation/) { print "\n" if $written > 600; $written = 0 if $written > 600 }
            if ($line =~ /`([^`]+)`/) { $written += put($1) }
            elsif ($line =~ /^\s+(?:description|spaceport|dialog|word)?\s*"([^"]{40,})"/) { $written += put($1) }
        }
    } elsif ($kind eq 'help') {
        $s =~ s/^;.*$//mg;
        while ($s =~ /_\("((?:[^"\\]|\\.)*)"\)/gs) {
            my $t = $1;
            next if length $t < 60;
            $t =~ s/\\\n//g;
            for my $p (split /\\n\s*\\n/, $t) { $p =~ s/\\n/ /g; $p =~ s/\\"/"/g; $p =~ s/^\?[a-z]+://; $written += put($p) }
            if ($written > 1500) { print "\n"; $written = 0 }
        }
    } elsif ($kind eq 'wml') {
        while ($s =~ /^\s*(?:message|story|description|note|summary|help_text)\s*=\s*((?:_?\s*"(?:[^"]|"")*"\s*\+?\s*(?:#.*\n\s*)?)+)/gm) {
            my $t = $1;
            $t =~ s/^\s*_?\s*"//; $t =~ s/"\s*\+\s*_?\s*"//g; $t =~ s/"\s*$//; $t =~ s/""/"/g;
            for my $p (split /\n\n/, $t) { $p =~ s/<\/?[a-z_]+[^>]*>//g; $written += put($p) }
            if ($written > 5000) { print "\n"; $written = 0 }
        }
    } elsif ($kind eq 'entries') {
        for my $entry (split /^%{4}\n/m, $s) {
            $entry =~ s/^#.*\n//mg;
            next if $entry !~ /^\s*([^\n]+)\n\n?(.*)$/s;
            my ($title, $body) = ($1, $2);
            next if $title =~ /^__|_|[^A-Za-z' -]/ || $body =~ /\{\{|^:/;
            $title =~ s/ (?:ability|spell|card|status|skill)$//;
            for my $p (split /\n\s*\n/, $body) { $written += put($written >= 0 && $title ne '' ? ucfirst("$title: $p") : $p); $title = '' }
            if ($written > 1800) { print "\n"; $written = 0 }
        }
    } elsif ($kind eq 'msg') {
        while ($s =~ /^msg\n(.*?)^endmsg$|"message"\s*:\s*"((?:[^"\\]|\\.)*)"|"text"\s*:\s*\[((?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]/gms) {
            my $t = defined $1 ? $1 : defined $2 ? $2 : $3;
            if (defined $3) { $t =~ s/^\s*"|"\s*$//g; $t =~ s/"\s*,\s*"/\n\n/g }
            next if length $t < 60 || $t =~ /[Cc]reat(?:ed|or)|[Mm]odified|^\@match|Date:|e-?mail/;
            $t =~ s/\\n/\n/g; $t =~ s/\\"/"/g; $t =~ s/\[\/?[a-z]+(?:=[^\]]*)?\]//g;
            for my $p (split /\n\s*\n/, $t) { $written += put($p) }
            if ($written > 2500) { print "\n"; $written = 0 }
        }
    } elsif ($kind eq 'angle') {
        while ($s =~ /<([A-Z][^<>"\n]{40,})>/g) {
            my $t = $1;
            next if $t =~ /[\\%=]|[a-z][A-Z]|\.[a-z]/;
            $written += put($t);
            if ($written > 2500) { print "\n"; $written = 0 }
        }
    } else { die "strings.pl: unknown kind '$kind'\n" }
    print "\n" if $written;
}
