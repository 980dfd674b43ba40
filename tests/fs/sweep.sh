# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the fault sweeps, after lib.sh: breaks each write of an act in turn, in every way there is.
#
# The test defines act (does it once; prints the errno and fails when refused), back (undoes it, must
# succeed) and $members (addresses it alters), $goes if more than $pf goes when that is pulled out,
# $pulled if not each member is, and $options of the daemon; it calls learn in the state before the act, then ways. Parts of a test ("# parts: N" in it) share the writes.
# shellcheck shell=sh disable=SC2154
points=0
factor=0.1 # of the deadlines: 1 s to bind, 3 s to unbind
pf= goes= pulled= options=
point='the act alone'

met() {
	"$bin/pcidevfs-sim" --control "$S" met 2>/dev/null
}

# What people see, without what counts on by itself. Group numbers change with who comes and goes, and a VF
# that could not be unmade has got its driver before the next claim takes it.
tree_state() {
	sed '1d; s/ iommu_group=[0-9]*//; s,/dev/vfio/[0-9][0-9]*,/dev/vfio/N,
		/ kind=vf /s/ former_driver=[^ ]*//' "$T/inventory" | sort
	grep -s . "$V"/*/claim "$V"/*/sriov_numvfs | sed "s,^$V/,,"
}

both() {
	kernel_state | grep -v '^[0-9]*$'
	tree_state
}

# Equal to FILE within 8 s: the tree hears of what the kernel did by events.
becomes() { # becomes FILE
	b_end=$(deadline 8)
	until both >"$D/now" && cmp -s "$1" "$D/now"; do
		[ "$(ms)" -lt $b_end ] || return 1
		sleep 0.02
	done
}

must_be() { # must_be FILE
	becomes "$1" || fail "$point: said \"$(cat "$D/verdict")\", $(said)
$(diff "$1" "$D/now" | cut -c 1-1200 | head -n 20)"
}

# Reasons that a helper finds come a moment after the start.
is_settled() {
	grep -qs mounted "$V"/*/host_critical
}

learn() {
	wait_for 5 is_settled
	both >"$D/before"
	act >"$D/verdict" || fail "the act alone: $(cat "$D/verdict"), $(said)"
	both >"$D/after"
	point=back
	back >"$D/verdict" || fail "back: $(cat "$D/verdict"), $(said)"
	must_be "$D/before"
}

# What is stored may be on its way back by itself just then.
again() { # again act|back: must succeed
	a_end=$(deadline 3)
	until "$1" >"$D/verdict"; do
		[ "$(cat "$D/verdict")" = EBUSY ] && [ "$(ms)" -lt $a_end ] ||
			fail "$point: the next $1: $(cat "$D/verdict"), $(said)"
		sleep 0.05
	done
}

# What was broken is whole: as before or, if the act said so, done; then it works and can be taken back.
whole() { # whole STATUS-OF-ACT
	if [ "$1" = 0 ]; then
		must_be "$D/after"
	else
		must_be "$D/before"
		again act
		must_be "$D/after"
	fi
	again back
	must_be "$D/before"
	points=$((points + 1))
}

said() { # what the refusal says, wherever it was written to
	for m in $members; do
		cat "$V/$m/last_error"
	done
	cat "$T/last_error"
}

named() { # the refusal names a member
	for m in $members; do
		! said | grep -q "$m" || return 0
	done
	fail "$point: which device? $(said)"
}

fails() { # fails N: that write is refused
	ctl nth "$1" fail EIO
	act >"$D/verdict"
	r=$?
	met || return 1
	ctl nth 0
	[ $r = 0 ] || named
	whole $r
}

# Before an act that needs what could not be made again.
mended() { :; }

fails_on() { # fails_on N: and so is all that would take the others back
	ctl nth "$1" from EIO
	act >"$D/verdict"
	r=$?
	met || return 1
	[ $r != 0 ] || fail "$point: done although every write failed"
	stuck=$(where state '^stuck$' | head -n 1)
	if [ -n "$stuck" ]; then
		grep -qE 'could not be undone|refused' "$V/$stuck/reason" ||
			fail "$point: stuck, and says: $(cat "$V/$stuck/reason")"
	else
		must_be "$D/before"
	fi
	ctl nth 0
	mended
	again act
	must_be "$D/after"
	again back
	must_be "$D/before"
	points=$((points + 1))
}

# Starts the act and waits until it is at the write; false when it came to its end before.
reach() { # reach N before|after
	ctl nth "$1" "$2"
	act >"$D/verdict" & actor=$!
	until met; do
		kill -0 $actor 2>/dev/null || break
		sleep 0.01
	done
	met || wait $actor && met
}

hangs() { # hangs N before|after: beyond the deadline
	reach "$1" "$2" || return 1
	if wait $actor; then
		fail "$point: done while its write hangs"
	fi
	[ "$(cat "$D/verdict")" = ETIMEDOUT ] || fail "$point: $(cat "$D/verdict"), should be ETIMEDOUT"
	named
	stuck=$(where state '^stuck$')
	[ -n "$stuck" ] || fail "$point: nothing is stuck"
	for m in $stuck; do
		has "$V/$m/reason" 'did not end within'
	done
	ctl nth 0
	whole 1
}

killed() { # killed N before|after [late]: late: the write ends only when the next process serves
	reach "$1" "$2" || return 1
	if [ -n "${3:-}" ]; then
		kill_serving
		ctl nth 0
	else
		kill -9 "$(serving_pid)"
		ctl nth 0
	fi
	wait $actor
	whole $?
}

gone() { # gone N before|after MEMBER: pulled out at that write; the others are whole, and so is it when back
	reach "$1" "$2" || return 1
	ctl unplug "$3"
	ctl nth 0
	wait $actor
	r=$?
	[ ! -e "$V/$3" ] || fail "$point: $3 is gone and still shown"
	[ $r = 0 ] && now=after || now=before
	[ "$3" = "$pf" ] && with=$goes || with=
	grep -vE "^$3${with:+|$with}" "$D/$now" >"$D/rest"
	must_be "$D/rest"
	ctl plug "$3"
	# Done without it: it was not asked for, its reason says to write again.
	if [ $r = 0 ]; then
		wait_for 2 grep -q . "$V/$3/driver"
		again act
	fi
	must_be "$D/$now"
	whole $r
}

each() { # each WAY [ARGUMENT]...
	e_way=$1
	shift
	n=$PART met=0
	while point="$what, $e_way $* at write $n" && $e_way $n "$@"; do
		n=$((n + PARTS)) met=$((met + 1))
	done
	ctl nth 0
	[ $met -gt 0 ] || fail "$point: no write was met"
	echo "$what: $e_way${1:+ $*} at $met writes, part $PART of $PARTS"
	# The act came to its end instead.
	must_be "$D/after"
	back
	must_be "$D/before"
}

ways() { # ways NAME
	what=$1
	each hangs before
	each hangs after
	# With the deadlines as they are: a busy machine is not to miss one before it is killed.
	stop_daemon
	# shellcheck disable=SC2086 # words
	start_daemon $options
	point='start with all deadlines'
	: >"$D/verdict"
	must_be "$D/before"
	each fails
	each fails_on
	each killed before
	each killed after
	each killed before late
	each killed after late
	for m_gone in ${pulled:-$members}; do
		each gone before "$m_gone"
	done
	echo "$what: $points points broken"
}

# A recording in which the GPU's group has four members, two of them without a driver.
group_of_four() { # group_of_four FILE
	sed 's,^\(L: iommu_group=.*/\)18$,\110,' tests/machines/small-server.umockdev >"$1"
}
