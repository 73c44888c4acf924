# Sourced by recipes that read files of public repositories, with $clones and $origin set, and `die MESSAGE`.

# clone REPOSITORY OPTION...: makes $clone, a clone of owner/name without history and without the files that nobody reads; one that is there stays as it is.
clone() {
    local repository=$1
    shift
    clone=$clones/${repository##*/}
    [ ! -d "$clone" ] || return 0
    rm -rf "$clone.part"
    git clone --quiet --depth 1 --filter=blob:none "$@" "$origin/$repository" "$clone.part" && mv "$clone.part" "$clone" ||
        die "cannot clone $origin/$repository; run it again to go on"
}
