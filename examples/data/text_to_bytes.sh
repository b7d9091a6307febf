#!/bin/sh
# Turns a text from standard input into an array of bytes in Par's value syntax: [84, 104, …]. Numbers without a suffix take the
# type that the program expects.
od -An -v -tu1 | tr -s ' \n' '\n' | sed '/^$/d' | paste -sd, - | sed 's/.*/[&]/'
