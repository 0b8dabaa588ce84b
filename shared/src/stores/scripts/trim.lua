-- Cuts a list that has grown too long. KEYS[1] list; ARGV[1] most entries to keep. Returns 1 if the list had to go.
return trim(KEYS[1], tonumber(ARGV[1]))
