-- Notes that all hidden authors are known, unless a new doubt has come up. KEYS[1] hidden authors; ARGV[1] the member that
-- says how much is known; ARGV[2] its score when the check began. Returns 1 if it was noted.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], 0, ARGV[1])
return 1
