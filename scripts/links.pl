#!/usr/bin/env perl
# Finds relative links in Markdown files that lead to no file, or to no heading of it. Core modules only.
use strict;
use warnings;
use File::Basename qw(dirname);

my (%headings, $failed);

sub text_of {
    my ($file) = @_;
    open(my $handle, '<', $file) or die "$file: $!\n";
    local $/;
    my $text = <$handle>;
    utf8::decode($text);
    $text =~ s/^(```|~~~).*?^\1//gms;    # what is in code blocks is neither a link nor a heading
    return $text;
}

# The anchors that a page gives its headings.
sub headings_of {
    my ($file) = @_;
    return $headings{$file} //= do {
        my (%anchors, %seen);
        for my $heading (text_of($file) =~ /^#{1,6} +(.*?)\s*$/gm) {
            my $anchor = lc $heading;
            $anchor =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
            $anchor =~ s/[^\w\- ]//g;
            $anchor =~ s/ /-/g;
            $anchor .= "-$seen{$anchor}" if $seen{$anchor}++;
            $anchors{$anchor} = 1;
        }
        $anchors{$1} = 1 while text_of($file) =~ /<a (?:id|name)="([^"]+)"/g;
        \%anchors;
    };
}

for my $file (@ARGV) {
    my $text = text_of($file);
    $text =~ s/`[^`\n]*`//g;
    while ($text =~ /\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g) {
        my $link = $1;
        next if $link =~ /^[a-z][a-z0-9+.-]*:/;
        my ($path, $anchor) = split /#/, $link, 2;
        my $target = $path eq '' ? $file : $path =~ m{^/} ? ".$path" : dirname($file) . "/$path";
        if (!-e $target) {
            warn "$file: $link: no such file\n";
            $failed = 1;
        } elsif (defined $anchor && $target =~ /\.md$/ && !headings_of($target)->{$anchor}) {
            warn "$file: $link: no such heading\n";
            $failed = 1;
        }
    }
}
exit($failed ? 1 : 0);
