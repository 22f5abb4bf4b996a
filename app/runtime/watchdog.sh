# Ends process groups when the one who names them is gone; see watchdog.py, which starts it.
# $1: how often, a tenth of a second apart, to look whether those that were asked to end have ended.
trap '' HUP INT TERM
groups=
while read -r sign group; do
    kept=
    for each in $groups; do [ "$each" = "$group" ] || kept="$kept $each"; done
    case $sign in +) groups="$kept $group" ;; *) groups=$kept ;; esac
done
tell() { for each in $groups; do kill -s "$1" -- "-$each"; done; }
any() { for each in $groups; do kill -s 0 -- "-$each" && return 0; done; return 1; }
tell TERM
polls=$1
while [ "$polls" -gt 0 ] && any; do sleep 0.1; polls=$((polls - 1)); done
tell KILL
