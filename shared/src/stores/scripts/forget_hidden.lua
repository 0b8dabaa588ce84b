-- Forgets hidden authors of whom nothing can come any more, together with what came of them since they were hidden.
-- KEYS[1] hidden authors; KEYS[2] list; KEYS[3] celebrities; ARGV[1] the time before which they must have been hidden;
-- ARGV[2...] each author as 8 bytes and as a number. Returns how many were forgotten.
--
-- An author who was followed again is no longer a member, and one who was unfollowed once more is too young.
local is_gone, forgotten = {}, 0
for i = 2, #ARGV, 2 do
  local since = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if since and tonumber(since) < tonumber(ARGV[1]) then
    is_gone[ARGV[i]] = true
    forgotten = forgotten + 1
    redis.call('SREM', KEYS[3], ARGV[i + 1])
    redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
if forgotten > 0 then
  remove_authors(KEYS[2], is_gone)
end
return forgotten
