-- Inserts one entry where its tweet id belongs. Does nothing if there is no list, if the entry is already in
-- place, or if the tweet is older than all that the list keeps (readers go on from the tables there).
-- KEYS[1] list; ARGV[1] entry. Returns 1 if the list has the entry now.
--
-- Ids are compared as two 32-bit halves: Lua's numbers hold 53 bits, and its strings compare by locale. The top bit is
-- not part of the id.
local function id(entry)
  local high, low = struct.unpack('>I4I4', entry)
  return high % 0x80000000, low
end

local high, low = id(ARGV[1])
local start = 0
while true do
  local chunk = redis.call('LRANGE', KEYS[1], start, start + 63)
  for _, other in ipairs(chunk) do
    local h, l = id(other)
    if h == high and l == low then
      return 1
    end
    if h < high or (h == high and l < low) then
      redis.call('LINSERT', KEYS[1], 'BEFORE', other, ARGV[1])
      return 1
    end
  end
  if #chunk < 64 then
    return 0
  end
  start = start + 64
end
