# What the recipes of datasets share: an order that looks random and is the same everywhere, and JSON.
use strict;
use warnings;
use bytes;

# A number from 0 to 2^31 - 2 that depends on all bytes of a text.
sub hash {
    my $h = 5381;
    $h = ($h * 33 + ord $_) % 2147483647 for split //, shift;
    $h = ($h * 48271) % 2147483647 for 1 .. 3;
    return $h;
}

# A line of JSON with these keys and texts, in turns.
sub row {
    my @members;
    while (my ($key, $text) = splice @_, 0, 2) {
        $text =~ s/(["\\])/\\$1/g;
        $text =~ s/([\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
        push @members, "\"$key\": \"$text\"";
    }
    return '{' . join(', ', @members) . "}\n";
}

1;
