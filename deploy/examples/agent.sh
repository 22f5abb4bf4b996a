#!/bin/sh
# An agent in miniature, for `fleet factory run --exec deploy/examples/agent.sh`: it does each stage of
# a development workflow on a real git repository. The payload comes on standard input; the last line
# of the output is the result; any exit code but 0 is a failed attempt.
set -eu

payload=$(cat)
field() {
    printf '%s' "$payload" |
        python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]) or "")' "$1"
}

stage=$(field stage)
branch=workflow-$(field workflow_id)
cd "$(field local_directory)"
git fetch --quiet origin

commit() {
    git add --all
    git -c user.name=agent -c user.email=agent@example.com commit --quiet --message "$1"
    git push --quiet --force origin "$branch"
}

case $stage in
implement)
    git switch --quiet --force-create "$branch" origin/main
    mkdir -p features
    field prompt >"features/$branch.md"
    commit "$(field prompt | head -n 1)"
    echo "{\"pr_url\": \"$branch\"}"
    ;;
address_review)
    git switch --quiet "$branch"
    field review_comments >>"features/$branch.md"
    commit "Address the review"
    echo '{}'
    ;;
local_test)
    git switch --quiet "$branch"
    python3 -m unittest >&2
    echo '{"summary": "the tests pass on the branch"}'
    ;;
post_merge | uat_test)
    git switch --quiet --force-create main origin/main
    python3 -m unittest >&2
    echo '{"summary": "the tests pass on main"}'
    ;;
*)
    echo "no idea how to do $stage" >&2
    exit 1
    ;;
esac
