-- Takes an author's entries out of a list. KEYS[1] list; ARGV[1] author id as 8 bytes. Returns how many there were.
-- The top bit is not part of the id.
local function author(bytes)
  return string.char(string.byte(bytes) % 128) .. string.sub(bytes, 2)
end

local removed = 0
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if author(string.sub(entry, 9, 16)) == ARGV[1] and string.sub(entry, 1, 8) ~= string.rep('\0', 8) then
    removed = removed + redis.call('LREM', KEYS[1], 0, entry)
  end
end
return removed
