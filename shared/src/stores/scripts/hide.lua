-- Hides an author. KEYS[1] hidden authors; ARGV[1] author id as 8 bytes; ARGV[2] now, in milliseconds; ARGV[3] how many
-- milliseconds late an entry may come; ARGV[4] most members; ARGV[5] seconds to live; ARGV[6] the member that says how
-- much is known.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[4]) then
  -- Too many to remember. Until nothing of them can still come, every reader asks the table who is followed.
  redis.call('DEL', KEYS[1])
  redis.call('ZADD', KEYS[1], ARGV[2] + ARGV[3], ARGV[6])
end
if redis.call('ZSCORE', KEYS[1], ARGV[6]) then
  redis.call('EXPIRE', KEYS[1], ARGV[5])
else
  -- No reader relies on this set. It is needed only for what is on its way to a list that somebody is about to make.
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
