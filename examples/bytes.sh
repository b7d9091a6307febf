#!/bin/sh
# Turns a printed array of bytes, [80u8, 50u8, …], from standard input into those bytes.
sed 's/u8//g' | tr -d '[],' | tr ' ' '\n' | awk 'NF { printf "%c", $1 + 0 }'
