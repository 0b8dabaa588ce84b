-- Takes an author's entries out of a list. KEYS[1] list; ARGV[1] author id as 8 bytes. Returns how many there were.
return remove_authors(KEYS[1], { [ARGV[1]] = true })
