#!/bin/sh
# A name below the work directory may go through links that a program made; where they lead is
# looked at before anything is touched
cd "$1" 2>/dev/null || { echo gone; exit 0; }
top=$(pwd -P)
inside() {
    near=$1
    until [ -e "$near" ] || [ -L "$near" ]; do
        case $near in */*) near=${near%/*} ;; *) near=. ;; esac
    done
    case $(readlink -f -- "$near")/ in "$top"/*) ;; *) echo outside; exit 0 ;; esac
}
inside "./$2"
