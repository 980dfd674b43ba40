# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by lib.sh and sync.sh: objects that go.
# shellcheck shell=bash disable=SC2154

gone() { # gone KIND NAME
	! kubectl get "$1" "$2" >/dev/null 2>&1
}

# Kubernetes 1.34 loses sight of about every thirtieth kind that is deleted, and kubectl waits for it without end: its
# crd_finalizer.go does not come back to a CRD whose status it could not write, until somebody else writes that.
take_away() { # take_away WHAT...: deletes it, as "-k DIR"
	t_end=$(deadline 15)
	until kubectl delete "$@" --ignore-not-found --timeout 20s >"$D/taken" 2>&1; do
		[ "$(ms)" -lt "$t_end" ] || fail "$* stays: $(cat "$D/taken")"
		kubectl annotate crd --all --overwrite "looked=$(ms)" >/dev/null 2>&1
	done
}
