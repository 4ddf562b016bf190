#!/bin/sh
# Blocks until the wrapper is gone, without polling. `<>` never blocks; it is the writer that lets
# the second opening return at once, and is then closed: what remains to write is the wrapper, and
# the end of file comes when it ends, or at once if it has ended already. As short as can be, since
# the host reads it while the program runs. Says: ended, gone, or unsure.
cd "$1/$2" 2>/dev/null || { echo gone; exit; }
if [ -p end ]; then
exec 5<>end
exec 6<end 5>&-
read -r _ <&6
fi
[ -s rc ] && echo ended || echo unsure
