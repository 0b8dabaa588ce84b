-- Inserts one entry where its tweet id belongs. Does nothing if there is no list, if the entry is already in
-- place, if its author is hidden, or if the tweet is not above what was cut off the list (readers go on from the tables
-- there). KEYS[1] list; KEYS[2] hidden authors; ARGV[1] entry; ARGV[2] most entries to keep; ARGV[3] how many more make the
-- list be cut. Returns 1 if the list has the entry now.
if redis.call('ZSCORE', KEYS[2], author(ARGV[1])) then
  return 0
end
local last = redis.call('LINDEX', KEYS[1], -1)
if not last or (is_cut(last) and not newer(ARGV[1], highest_cut(last))) then
  return 0
end
local high, low = id(ARGV[1])
local start = 0
while true do
  local chunk = redis.call('LRANGE', KEYS[1], start, start + 63)
  for place, other in ipairs(chunk) do
    local h, l = id(other)
    if h == high and l == low then
      return 1
    end
    if h < high or (h == high and l < low) then
      local length = redis.call('LINSERT', KEYS[1], 'BEFORE', other, ARGV[1])
      local most = tonumber(ARGV[2])
      if length <= most + tonumber(ARGV[3]) then
        return 1
      end
      local gone = trim(KEYS[1], most)
      if gone == 1 or start + place > most then
        return 0
      end
      return 1
    end
  end
  if #chunk < 64 then
    return 0
  end
  start = start + 64
end
