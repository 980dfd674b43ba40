# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of pcidevfs: the program tells the words, which come from its tables and from the live tree.
function __pcidevfs_words
	set -l words (commandline -opc) (commandline -ct)
	$words[1] --complete $words[2..-1] 2>/dev/null
end
complete -c pcidevfs -f -a '(__pcidevfs_words)'
