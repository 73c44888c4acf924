#!/usr/bin/perl
# Examples out of the descriptions of packages: programs.pl PACKAGES TRANSLATION
#
# Summaries (a description and its short form), tagging by section, and tagging by debtags with one to three tags.
use strict;
use warnings;
use bytes;
use FindBin;
use lib $FindBin::Bin;
use Form;

my %section = (
    games => 'games', sound => 'music', video => 'video', graphics => 'graphics', science => 'science', math => 'mathematics', mail => 'mail', database => 'databases', editors => 'editors', web => 'web',
    httpd => 'web servers', education => 'education', electronics => 'electronics', hamradio => 'radio', fonts => 'fonts', gnome => 'desktop', kde => 'desktop', xfce => 'desktop', net => 'network',
    admin => 'administration', utils => 'utilities', text => 'text', devel => 'programming', python => 'Python', perl => 'Perl', ruby => 'Ruby', java => 'Java', javascript => 'JavaScript', php => 'PHP',
    haskell => 'Haskell', lisp => 'Lisp', ocaml => 'OCaml', rust => 'Rust', 'gnu-r' => 'statistics', doc => 'documentation', shells => 'shells', vcs => 'version control', comm => 'communication',
    otherosfs => 'emulators', news => 'news', tex => 'typesetting', localization => 'languages', interpreters => 'programming languages', kernel => 'kernel', x11 => 'windows', embedded => 'embedded systems',
);
my %tag_name = (
    'admin::backup' => 'backup', 'admin::boot' => 'boot', 'admin::filesystem' => 'file systems', 'admin::forensics' => 'forensics', 'admin::hardware' => 'hardware', 'admin::logging' => 'logs',
    'admin::monitoring' => 'monitoring', 'admin::package-management' => 'package management', 'admin::power-management' => 'power', 'admin::user-management' => 'accounts', 'admin::virtualization' => 'virtual machines',
    'devel::debugger' => 'debugging', 'devel::compiler' => 'compilers', 'devel::testing-qa' => 'testing', 'devel::i18n' => 'translation', 'devel::rcs' => 'version control', 'devel::docsystem' => 'documentation',
    'field::arts' => 'art', 'field::astronomy' => 'astronomy', 'field::aviation' => 'aviation', 'field::biology' => 'biology', 'field::biology:bioinformatics' => 'bioinformatics', 'field::chemistry' => 'chemistry',
    'field::electronics' => 'electronics', 'field::finance' => 'finance', 'field::genealogy' => 'family trees', 'field::geography' => 'maps', 'field::geology' => 'geology', 'field::linguistics' => 'language',
    'field::mathematics' => 'mathematics', 'field::medicine' => 'medicine', 'field::meteorology' => 'weather', 'field::physics' => 'physics', 'field::religion' => 'religion', 'field::statistics' => 'statistics',
    'game::adventure' => 'adventure games', 'game::arcade' => 'arcade games', 'game::board' => 'board games', 'game::board:chess' => 'chess', 'game::card' => 'card games', 'game::puzzle' => 'puzzles',
    'game::rpg' => 'role-playing games', 'game::simulation' => 'simulations', 'game::sport' => 'sports', 'game::sport:racing' => 'racing', 'game::strategy' => 'strategy games', 'game::tetris' => 'falling blocks',
    'game::toys' => 'toys', 'game::typing' => 'typing', 'game::fps' => 'shooters', 'game::platform' => 'jumping games', 'hardware::camera' => 'cameras', 'hardware::printer' => 'printers', 'hardware::scanner' => 'scanners',
    'hardware::storage' => 'disks', 'hardware::storage:cd' => 'CDs', 'hardware::usb' => 'USB', 'hardware::video' => 'graphics cards', 'hardware::gps' => 'GPS', 'hardware::modem' => 'modems', 'hardware::power' => 'batteries',
    'hardware::detection' => 'hardware', 'junior::arcade' => 'children', 'mail::filters' => 'mail filters', 'mail::list' => 'mailing lists', 'mail::notification' => 'notification', 'mail::delivery-agent' => 'mail delivery',
    'network::firewall' => 'firewalls', 'network::routing' => 'routing', 'network::scanner' => 'port scanning', 'network::vpn' => 'VPN', 'network::load-balancing' => 'load balancing', 'network::hiavailability' => 'high availability',
    'office::finance' => 'accounting', 'office::groupware' => 'teamwork', 'office::presentation' => 'presentations', 'office::project-management' => 'project management', 'office::spreadsheet' => 'spreadsheets',
    'science::calculation' => 'calculation', 'science::plotting' => 'plotting', 'science::visualisation' => 'visualisation', 'science::modelling' => 'modelling', 'science::data-acquisition' => 'measurement',
    'security::antivirus' => 'viruses', 'security::authentication' => 'passwords', 'security::cryptography' => 'encryption', 'security::firewall' => 'firewalls', 'security::ids' => 'intrusion', 'security::privacy' => 'privacy',
    'sound::mixer' => 'mixers', 'sound::player' => 'music players', 'sound::recorder' => 'recording', 'sound::midi' => 'MIDI', 'sound::sequencer' => 'sequencers', 'sound::speech' => 'speech', 'sound::compression' => 'audio compression',
    'use::browsing' => 'browsing', 'use::calculating' => 'calculation', 'use::chatting' => 'chat', 'use::checking' => 'checking', 'use::comparing' => 'comparison', 'use::compressing' => 'compression', 'use::configuring' => 'settings',
    'use::converting' => 'conversion', 'use::downloading' => 'downloads', 'use::editing' => 'editing', 'use::filtering' => 'filters', 'use::gameplaying' => 'games', 'use::learning' => 'learning', 'use::login' => 'login',
    'use::monitor' => 'monitoring', 'use::organizing' => 'organising', 'use::playing' => 'players', 'use::printing' => 'printing', 'use::scanning' => 'scanning', 'use::searching' => 'search', 'use::synchronizing' => 'synchronisation',
    'use::timekeeping' => 'clocks', 'use::transmission' => 'transfer', 'use::typesetting' => 'typesetting', 'use::viewing' => 'viewers', 'use::simulating' => 'simulation', 'use::measuring' => 'measurement', 'use::dialing' => 'telephone',
    'web::blog' => 'blogs', 'web::browser' => 'web browsers', 'web::cms' => 'content management', 'web::forum' => 'forums', 'web::server' => 'web servers', 'web::wiki' => 'wikis', 'web::portal' => 'portals', 'web::search-engine' => 'search engines',
    'works-with::3dmodel' => '3D models', 'works-with::archive' => 'archives', 'works-with::audio' => 'audio', 'works-with::bugs' => 'bug reports', 'works-with::db' => 'databases', 'works-with::dictionary' => 'dictionaries',
    'works-with::fax' => 'fax', 'works-with::font' => 'fonts', 'works-with::graphs' => 'graphs', 'works-with::image' => 'images', 'works-with::im' => 'messaging', 'works-with::logfile' => 'logs', 'works-with::mail' => 'mail',
    'works-with::music-notation' => 'sheet music', 'works-with::network-traffic' => 'network traffic', 'works-with::people' => 'contacts', 'works-with::pim' => 'calendars', 'works-with::software:source' => 'source code',
    'works-with::spreadsheet' => 'spreadsheets', 'works-with::text' => 'text', 'works-with::video' => 'video', 'works-with::vcs' => 'version control', 'works-with::unicode' => 'characters', 'culture::japanese' => 'Japanese',
    'culture::chinese' => 'Chinese', 'culture::german' => 'German', 'culture::french' => 'French', 'culture::russian' => 'Russian', 'culture::arabic' => 'Arabic', 'accessibility::speech' => 'speech', 'accessibility::input' => 'keyboards',
    'accessibility::screen-reader' => 'blind users', 'biology::nuceleic-acids' => 'DNA', 'biology::peptidic' => 'proteins', 'protocol::irc' => 'chat', 'protocol::bittorrent' => 'file sharing', 'protocol::voip' => 'telephone',
    'protocol::ldap' => 'directories', 'protocol::dns' => 'domain names', 'protocol::ssh' => 'remote login', 'protocol::bluetooth' => 'Bluetooth', 'protocol::ftp' => 'file transfer', 'works-with-format::pdf' => 'PDF', 'works-with-format::tex' => 'TeX',
    'works-with-format::html' => 'HTML', 'works-with-format::xml' => 'XML', 'works-with-format::gif' => 'pictures', 'works-with-format::mp3' => 'MP3', 'works-with-format::svg' => 'vector graphics', 'works-with-format::dvi' => 'TeX',
);
my @sections = do { my %s; grep { !$s{$_}++ } map { $section{$_} } sort keys %section };
my @tags = do { my %s; grep { !$s{$_}++ } map { $tag_name{$_} } sort keys %tag_name };

local $/ = '';
my %package;
open my $list, '<', $ARGV[0] or die "programs.pl: $ARGV[0]: $!\n";
while (<$list>) {
    my ($name) = /^Package: (\S+)/m or next;
    my ($s) = /^Section: (\S+)/m;
    my $t = /^Tag: (.*(?:\n .*)*)/m ? $1 : '';
    $t =~ s/\s+//g;
    my %seen;
    my @t = grep { defined && !$seen{$_}++ } map { $tag_name{$_} } split /,/, $t;
    $package{$name} //= [$section{$s} // '', \@t];
}
my (%used, %text_used);
open my $in, '<', $ARGV[1] or die "programs.pl: $ARGV[1]: $!\n";
while (<$in>) {
    my ($name) = /^Package: (\S+)/ or next;
    my $p = $package{$name} or next;
    next if $name =~ /-(?:dev|dbg|dbgsym|data|common|locales|doc)$|-l10n-|^(?:librust-|golang-|linux-(?:image|headers))/ || !/^Description-en: (.*)\n((?: .*\n?)*)/m;
    my ($title, $body) = ($1, $2);
    my @p = ('');
    for my $line (split /\n/, $body) {
        if ($line eq ' .') { push @p, '' }
        elsif ($line =~ /^  |^ [*o-] /) { push @p, '#' }
        elsif ($line =~ /^ (.*)/) { my $w = $1; $p[-1] =~ /^#/ ? push(@p, $w) : ($p[-1] .= ($p[-1] eq '' ? '' : ' ') . $w) }
    }
    @p = grep { length > 40 && !/^#|:$|^This package (?:contains|provides|is)|https?:|www\.|[<>{}|\\]/ } @p;
    next if !@p || $title =~ /transitional|dummy|metapackage|debug/;
    my $text = join ' ', @p;
    $text =~ s/\s+/ /g;
    $text = Form::beginning($text, 520);
    next if length $text < 80 || $text_used{substr $text, 0, 60}++;
    Form::seed('program', $name);
    $title =~ s/ \([^)]*\)$//;
    if (length $title > 14 && $title =~ / .* / && Form::draw(5) < 3) {
        my $instruction = Form::pick('Summarise the text in one line.', 'Give a short description of the program.', 'Sum up the text in a few words.', 'Write a one-line summary.', 'Say in one line what the program does.', 'Shorten the text to one line.');
        Form::draw(5) ? Form::row('summary', $instruction, $text, ucfirst $title) : Form::row('summary', '', "$instruction\n$text", ucfirst $title);
    }
    my ($s, $t) = @$p;
    if ($s ne '' && $used{$s}++ < 600) { Form::tagging('tag-section', $text, [$s], [grep { my $o = $_; $o ne $s && !grep { $_ eq $o } @$t } @sections]) }
    if (@$t) {
        my @fresh = sort { ($used{"t$a"} // 0) <=> ($used{"t$b"} // 0) || $a cmp $b } @$t;
        next if ($used{"t$fresh[0]"} // 0) > 400;
        @fresh = @fresh[0 .. ($#fresh > 2 ? 2 : $#fresh)];
        $used{"t$_"}++ for @fresh;
        my %mine = map { $_ => 1 } @$t, $s;
        local $Form::closed = 70;
        Form::tagging('tag-program', $text, \@fresh, [grep { !$mine{$_} } @tags]);
    }
}
