-- What several scripts know about entries and lists. It is put before them.
local ENTRY = 16
local REPOST = 32
local NO_TWEET = string.rep('\0', 8)
local BOTTOM = string.rep('\0', ENTRY)
-- `LATE_MS` as the difference of two ids, whose time begins at bit 22.
local LATE = 10000 * 2 ^ 22

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

-- The end of a list that was cut. It is as long as a repost.
local function is_cut(last)
  return is_marker(last) and #last == REPOST
end

-- A list that is being built or filled, as its last entry says.
local function is_unfinished(last)
  return last and is_marker(last) and last ~= BOTTOM and not is_cut(last)
end

-- The highest id that was ever cut off a list with this end, as 8 bytes. The top bit is not part of it.
local function highest_cut(cut)
  return string.sub(cut, 9, 16)
end

-- The end of a list from which this entry was cut off, and none with a higher id. See `ListEnd`.
local function cut_at(entry)
  local top = string.char(string.byte(entry, 1) % 128 + 128)
  return NO_TWEET .. top .. string.sub(entry, 2, 8) .. string.rep('\0', REPOST - ENTRY)
end

-- What a list ends with, whoever has cut it. An older version has left no end there. What it cut off was deeper in the list
-- than the last entry, and so it was posted at most `LATE` later.
local function end_of(last)
  if is_marker(last) then
    return last
  end
  local high, low = id(last)
  low = low + LATE
  return cut_at(struct.pack('>I4I4', high + math.floor(low / 2 ^ 32), low % 2 ^ 32))
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

-- Cuts a list that has grown too long, and notes at its end what is gone. A list that is still being filled must not lose
-- its marker and pass for whole: it goes, and is rebuilt by the next reader.
local function trim(list, most)
  local gone = redis.call('LRANGE', list, most, -1)
  if #gone == 0 or (#gone == 1 and is_marker(gone[1])) then
    return 0
  end
  local last = table.remove(gone)
  if is_unfinished(last) then
    return redis.call('DEL', list)
  end
  local rest = end_of(last)
  local highest = is_cut(rest) and highest_cut(rest) or NO_TWEET
  for _, entry in ipairs(gone) do
    if newer(entry, highest) then
      highest = entry
    end
  end
  redis.call('LTRIM', list, 0, most - 1)
  redis.call('RPUSH', list, cut_at(highest))
  return 0
end
