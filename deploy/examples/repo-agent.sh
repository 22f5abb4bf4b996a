#!/bin/sh
# An agent in miniature for repos of the feature chain: `fleet factory run --exec
# 'deploy/examples/repo-agent.sh ~/src'`, with a clone of each repo in that folder. It scouts for notes
# of things to do, does them, solves issues on branches, and verifies pull requests by their tests. The
# payload comes on standard input; the last line of the output is the result; any exit code but 0 is a
# failed attempt.
set -eu

payload=$(cat)
field() {
    printf '%s' "$payload" | python3 -c '
import functools, json, sys
found = functools.reduce(lambda part, name: part.get(name, {}), sys.argv[1:], json.load(sys.stdin))
print(found or "")' "$@"
}

cd "$1/$(field repo)"
git fetch --quiet origin

commit_and_push() { # message, where to
    git add --all
    git -c user.name=agent -c user.email=agent@example.com commit --quiet --message "$1"
    git push --quiet origin "HEAD:refs/heads/$2"
}

case $(field stage) in
scout)
    git switch --quiet --detach origin/main
    git grep --no-color -h TODO -- '*.py' | python3 -c '
import json, sys
notes = sorted({line.partition("TODO")[2].strip(" :\n") for line in sys.stdin})
found = [{"focus": note, "score": len(notes) - place} for place, note in enumerate(notes)]
print(json.dumps({"candidates": found}))'
    ;;
spawn)
    git switch --quiet --detach origin/main
    note=$(field prompt)
    for file in $(git grep --no-color -lF "TODO: $note" -- '*.py' || true); do
        grep -vF "TODO: $note" "$file" >"$file.new" && mv "$file.new" "$file"
    done
    echo "- $note" >>CHANGES.md
    commit_and_push "$note" main
    echo '{"summary": "done, on main"}'
    ;;
fix_issue)
    branch=issue-$(field issue number)-$FLEET_FENCE-$(printf %s "$FLEET_JOB_ID" | tail -c 6)
    git switch --quiet --detach origin/main
    mkdir -p fixes
    field issue title >"fixes/$branch.md"
    commit_and_push "Fix #$(field issue number)" "$branch"
    echo "{\"pr_url\": \"$branch\"}"
    ;;
verify_pr)
    git switch --quiet --detach "$(field pull head_sha)"
    if python3 -m unittest >&2; then echo '{"verified": true}'; else echo '{"verified": false}'; fi
    ;;
issue_scout) # Only looks: no branch, no commit.
    git switch --quiet --detach origin/main
    git ls-files '*.py' | grep -v test_ | python3 -c '
import json, pathlib, sys
untested = [each for each in sys.stdin.read().split() if not pathlib.Path("test_" + each).exists()]
print(json.dumps({"issues": [{"title": f"{each} has no tests", "score": 1} for each in untested]}))'
    ;;
*)
    echo "no idea how to do $(field stage)" >&2
    exit 1
    ;;
esac
