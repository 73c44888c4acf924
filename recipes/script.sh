# Sourced by recipes that run dibit. The comment at the top of a recipe is its help, and has the line that shows how it is called.

script=$(basename "$0")

# die STATUS MESSAGE
die() { printf '%s: %s\n' "${script%.sh}" "$2" >&2; exit "$1"; }

# begin LEAST MOST ARGUMENT...: answers --help, refuses any other option and another number of arguments, and finds the program, $dibit.
begin() {
    local least=$1 most=$2
    shift 2
    case "${1:-}" in
    -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) least=1; set -- ;;
    esac
    if [ $# -lt "$least" ] || [ $# -gt "$most" ]; then
        printf 'usage: %s\n' "$(sed -n "s|^# *recipes/[a-z0-9/-]*/\($script .*\)$|\1|p" "$0")" >&2
        exit 64
    fi
    dibit=${DIBIT:-dibit}
    command -v "$dibit" >/dev/null 2>&1 || die 69 "$dibit is not on the PATH: make build, or set DIBIT"
}

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
