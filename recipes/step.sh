# Sourced by recipes that make models step by step.

# step NAME ARGUMENTS...: runs $dibit for $out/NAME unless that is there, and says how long it took.
step() {
    local name=$1 start=$SECONDS
    shift
    if [ -e "$out/$name/manifest.json" ]; then
        printf '%s: there already\n' "$name"
        return
    fi
    printf '$ dibit %s --output %s\n' "$*" "$out/$name"
    "$dibit" "$@" --output "$out/$name" >"$out/$name.log" || exit
    printf '%s: %d min %02d s\n' "$name" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60))
}
