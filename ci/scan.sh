#!/usr/bin/env bash
# Runs isodetect for action.yml. Reads ISODETECT (the binary) and SCAN_*; gives the
# outputs sarif, exit-code and outcome, and ends with the exit code of isodetect.
set -uo pipefail

dir=$RUNNER_TEMP/isodetect
mkdir -p "$dir"
report=$dir/report.json annotations=$dir/annotations
rm -f "$report" "$annotations"

# trimmed TEXT: without blanks around it.
trimmed() {
	local s=$1
	s=${s#"${s%%[![:space:]]*}"}
	printf '%s' "${s%"${s##*[![:space:]]}"}"
}

sarif=
args=(scan --no-progress --format "json=$report" --format "github=$annotations")
while IFS= read -r line; do
	line=$(trimmed "$line")
	case $line in
	'' | github) continue ;; # annotations are written anyway
	sarif=*) sarif=${line#sarif=} ;;
	esac
	args+=(--format "$line")
done <<<"$SCAN_FORMATS"
[ -z "$SCAN_FAIL_ON" ] || args+=(--fail-on "$SCAN_FAIL_ON")
[ -z "$SCAN_BASELINE" ] || args+=(--baseline "$SCAN_BASELINE")
while IFS= read -r line; do
	line=$(trimmed "$line")
	[ -z "$line" ] || args+=("$line")
done <<<"$SCAN_ARGS"
args+=(--)
while IFS= read -r line; do
	line=$(trimmed "$line")
	[ -z "$line" ] || args+=("$line")
done <<<"$SCAN_PATHS"

# What a log holds must not be a command to the runner.
token=isodetect-$RANDOM$RANDOM$RANDOM$RANDOM
printf '::stop-commands::%s\n' "$token"
"$ISODETECT" "${args[@]}" </dev/null
code=$?
printf '\n::%s::\n' "$token"

[ ! -f "$annotations" ] || cat "$annotations"
outcome=
[ ! -f "$report" ] || outcome=$(sed -n 's/^    "outcome": "\([a-z]*\)".*/\1/p' "$report" | tail -n 1)
[ -n "$outcome" ] || outcome=error
[ -n "$sarif" ] && [ -f "$sarif" ] || sarif=
if [ "$outcome" = error ] && [ ! -f "$annotations" ]; then
	printf '::error title=isodetect::nothing was judged: isodetect ended with %d, see the log of this step\n' "$code"
fi
{
	printf 'sarif=%s\n' "$sarif"
	printf 'exit-code=%d\n' "$code"
	printf 'outcome=%s\n' "$outcome"
} >>"$GITHUB_OUTPUT"
exit "$code"
