# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run: the rows of the table.
# shellcheck shell=bash
rows=() missing=()

# Where a bound is a number: of p50 and p99 the p99 counts, of p50 and max the max, of a ratio the ratio. What never
# came is inf.
held() { # held MEASURED BOUND: yes, within 10 % (the margin of DESIGN.md 10), no, or nothing
	awk -v m="$1" -v b="$2" 'BEGIN {
		ratio = b ~ /^[0-9.]+x$/
		if (!ratio && b !~ /^(p99 |max )?[0-9.]+ (us|ms|MiB|bytes)/)
			exit
		sub(/^(p99|max) /, "", b)
		if (ratio && match(m, /[0-9.]+x/) || match(m, /p99 (-?[0-9.]+|inf)/) || match(m, /max ([0-9.]+|inf)/))
			m = substr(m, RSTART, RLENGTH)
		sub(/^(p50|p99|max) /, "", m)
		if (m !~ /^-?[0-9.]+/)
			print "no"
		else
			print m + 0 <= b + 0 ? "yes" : m + 0 <= 1.1 * b ? "within 10 %" : "no"
	}'
}

# STATUS is that of the tool that measured. Whether "0 failed" and the like hold, it alone knows; another one than 0
# is a no whatever the numbers are.
row() { # row WHAT MEASURED BOUND [STATUS]
	local verdict measured=$2
	verdict=$(held "$2" "$3")
	if [ "${4:-0}" != 0 ]; then
		verdict=no
		measured+=" (the tool's status: $4)"
	elif [ -n "${4:-}" ] && [ -z "$verdict" ] && [ -n "$3" ]; then
		verdict=yes
	fi
	rows+=("| $1 | $measured | $3 | $verdict |")
	echo "${rows[-1]}"
}

# What is not measured stands below the table.
leave_out() { # leave_out WHAT WHY
	missing+=("- $1: $2")
	echo "# left out: $1: $2"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
key() { sed -n "s/.*\b$1=\([^ ]*\).*/\1/p"; } # key NAME: its value in each line
