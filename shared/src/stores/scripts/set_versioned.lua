-- Stores fields of a row unless newer ones are there. KEYS[1] hash; ARGV[1] version; ARGV[2] seconds to live;
-- ARGV[3...] fields and values. Returns 1 if it stored.
--
-- Values are absolute and come with the version of the row they were read from, so that redelivery and disorder do
-- no harm. Versions stay far below 2^53.
local have = redis.call('HGET', KEYS[1], 'version')
if have and tonumber(have) > tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[1], unpack(ARGV, 3))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
