-- What several scripts know about entries and lists. It is put before them.
local ENTRY = 16
local REPOST = 32
local NO_TWEET = string.rep('\0', 8)
local BOTTOM = string.rep('\0', ENTRY)

-- Ids are compared as two 32-bit halves: Lua's numbers hold 53 bits, and its strings compare by locale. The top bit is
-- not part of the id.
local function id(entry)
  local high, low = struct.unpack('>I4I4', entry)
  return high % 0x80000000, low
end

local function newer(a, b)
  local ah, al = id(a)
  local bh, bl = id(b)
  return ah > bh or (ah == bh and al > bl)
end

-- The author's id as 8 bytes. The top bit is not part of it.
local function author(entry)
  return string.char(string.byte(entry, 9) % 128) .. string.sub(entry, 10, ENTRY)
end

local function is_marker(entry)
  return string.sub(entry, 1, 8) == NO_TWEET
end

-- A list that is being built or filled, as its last entry says.
local function is_unfinished(last)
  return last and is_marker(last) and last ~= BOTTOM
end

-- Puts these entries in the place of a list, with the life that is left to it.
local function replace(list, entries)
  local ttl = redis.call('PTTL', list)
  redis.call('DEL', list)
  -- Lua cannot unpack 8,000 values at once.
  for i = 1, #entries, 500 do
    redis.call('RPUSH', list, unpack(entries, i, math.min(i + 499, #entries)))
  end
  if ttl > 0 and #entries > 0 then
    redis.call('PEXPIRE', list, ttl)
  end
end

-- Takes all entries of some authors out of a list, in one pass. The list's end stays. Returns how many they were.
local function remove_authors(list, is_gone)
  local entries = redis.call('LRANGE', list, 0, -1)
  local left = {}
  for _, entry in ipairs(entries) do
    if is_marker(entry) or not is_gone[author(entry)] then
      left[#left + 1] = entry
    end
  end
  if #left < #entries then
    replace(list, left)
  end
  return #entries - #left
end

-- Cuts a list that has grown too long. A list that is still being filled must not lose its marker and pass for whole: it
-- goes, and is rebuilt by the next reader.
local function trim(list, most)
  if is_unfinished(redis.call('LINDEX', list, -1)) then
    return redis.call('DEL', list)
  end
  redis.call('LTRIM', list, 0, most - 1)
  return 0
end
