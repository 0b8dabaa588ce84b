-- Takes an author's entries out of a list. KEYS[1] list; ARGV[1] author id as 8 bytes. Returns how many there were.
local removed = 0
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if string.sub(entry, 9, 16) == ARGV[1] and string.sub(entry, 1, 8) ~= string.rep('\0', 8) then
    removed = removed + redis.call('LREM', KEYS[1], 0, entry)
  end
end
return removed
