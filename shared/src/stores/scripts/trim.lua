-- Cuts a list that has grown too long. KEYS[1] list; ARGV[1] most entries to keep.
--
-- A list that is still being filled must not lose its marker and pass for whole: it goes, and is rebuilt by the next
-- reader.
local last = redis.call('LINDEX', KEYS[1], -1)
if last and string.sub(last, 1, 8) == string.rep('\0', 8) and last ~= string.rep('\0', 16) then
  return redis.call('DEL', KEYS[1])
end
redis.call('LTRIM', KEYS[1], 0, ARGV[1] - 1)
return 0
