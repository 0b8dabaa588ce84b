-- Takes the right to rebuild a list, and creates the list so that whatever is pushed from now on lands in it.
-- KEYS[1] list; KEYS[2] right; ARGV[1] token; ARGV[2] milliseconds that the right lasts; ARGV[3] the marker that says who
-- builds; ARGV[4] seconds that the list lives. Returns 1 if the caller may rebuild.
--
-- All of it is one step. A caller that dies leaves no list without its end, and a call that arrives twice or late never
-- resets a list that others have pushed to.
local last = redis.call('LINDEX', KEYS[1], -1)
local holder = redis.call('GET', KEYS[2])
if holder then
  -- The same call once more, because its answer was lost: nothing is to be done again.
  return (holder == ARGV[1] and last == ARGV[3]) and 1 or 0
end
-- A list ends with a marker, whose first half is zero; one of an older version may end with an entry. Only the marker of an
-- unfinished rebuild has a second half that is neither zero nor begins with the top bit (see `ListEnd`).
local is_built = last
  and (string.sub(last, 1, 8) ~= string.rep('\0', 8)
    or last == string.rep('\0', 16)
    or string.byte(last, 9) >= 128)
if is_built then
  return 0
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
-- Whatever an abandoned rebuild left behind goes: only what is pushed behind this marker is known to be whole.
redis.call('DEL', KEYS[1])
redis.call('RPUSH', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
