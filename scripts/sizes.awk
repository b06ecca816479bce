# Lines per file and per function of Rust sources that rustfmt has formatted: there, a function ends with the first
# brace that is indented as far as its beginning.
function note(array, count, value) { array[count] = value }
function median(array, count) { return count ? array[int((count + 1) / 2)] : 0 }
function sorted(array, count,    i, j, value) {
  for (i = 2; i <= count; i++) {
    value = array[i]
    for (j = i - 1; j >= 1 && array[j] > value; j--) array[j + 1] = array[j]
    array[j + 1] = value
  }
}
function end_of_file() {
  if (file == "") return
  note(lines, ++files, last)
  if (last > longest) { longest = last; longest_name = file }
  if (last > LIMIT) { print file ": " last " lines, more than " LIMIT > "/dev/stderr"; failed = 1 }
}
BEGIN { LIMIT = 800 }
FNR == 1 { end_of_file(); file = FILENAME; inside = 0 }
{ last = FNR }
!inside && /^ *(pub(\([a-z ]+\))? )?(default )?(const )?(async )?(unsafe )?(extern "C" )?fn / && !/[;}]$/ {
  match($0, /^ */); indent = RLENGTH; inside = 1; begin = FNR
  name = $0; sub(/^.*fn /, "", name); sub(/[^A-Za-z0-9_].*$/, "", name)
  next
}
inside && /^ *[})].*;$/ { match($0, /^ */); if (RLENGTH == indent) inside = 0 }  # only declared, in a trait
inside && /^ *}$/ {
  match($0, /^ */)
  if (RLENGTH == indent) {
    inside = 0
    size = FNR - begin + 1
    note(sizes, ++functions, size)
    if (size > biggest) { biggest = size; biggest_name = name " in " file }
    if (size > LIMIT) { print file ": " name ": " size " lines, more than " LIMIT > "/dev/stderr"; failed = 1 }
  }
}
END {
  end_of_file()
  sorted(lines, files); sorted(sizes, functions)
  printf "files: %d, median %d lines, longest %d (%s)\n", files, median(lines, files), longest, longest_name
  printf "functions: %d, median %d lines, longest %d (%s)\n", functions, median(sizes, functions), biggest, biggest_name
  exit failed
}
