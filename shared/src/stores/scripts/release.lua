-- Gives a right back, unless somebody else has it by now. KEYS[1] right; ARGV[1] token.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
