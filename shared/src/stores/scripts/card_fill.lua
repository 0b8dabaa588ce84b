-- Stores a user's card as read from the table, unless it changed since or one is there. KEYS[1] card; KEYS[2] the right
-- to fill it; ARGV[1] token; ARGV[2] seconds to live; ARGV[3] card. Returns 1 if it stored.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[2])
if redis.call('SET', KEYS[1], ARGV[3], 'NX', 'EX', ARGV[2]) then
  return 1
end
return 0
