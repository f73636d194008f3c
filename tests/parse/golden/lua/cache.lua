#!/usr/bin/env lua
--- A cache with expiry, used by the session store.
-- @module cache

local Object = require("classic")
local clock = require "util.clock"
local format, insert = string.format, table.insert
local log = require("util.log").scoped("cache")
require("util.compat")

local M = {}
M._VERSION = "2.1"

local DEFAULT_TTL <const> = 300
local hits, misses = 0, 0

--- Kinds of eviction.
M.Policy = {
  LRU = "lru",
  FIFO = "fifo",
}

M.stats = {
  --- Share of lookups that were answered.
  ratio = function()
    return hits / (hits + misses)
  end,
  reset = function(self)
    hits, misses = 0, 0
  end,
}

---@class Entry
---@field value any
local Entry = {}
Entry.__index = Entry

--- Makes an entry.
---@param value any
---@param ttl? number
---@return Entry
function Entry.new(value, ttl)
  local self = setmetatable({}, Entry)
  self.value = value
  self.expires = clock.now() + (ttl or DEFAULT_TTL)
  return self
end

function Entry:fresh()
  return self.expires > clock.now()
end

function Entry.__eq(a, b)
  return a.value == b.value
end

-- The store itself.
local Store = Object:extend()

function Store:new(options)
  Store.super.new(self)
  self.entries = {}
  self.policy = options and options.policy or M.Policy.LRU
  self.on_evict = function(key)
    log.debug(format("evicted %s", key))
  end
end

--[[
  Looks a key up; calls `make` where it is missing.
  Long comment of several lines.
]]
function Store:get(
  key,
  make,
  ...
)
  local entry = self.entries[key]
  if entry and entry:fresh() then
    hits = hits + 1
    return entry.value
  end
  misses = misses + 1
  local function store(value)
    local fresh = Entry.new(value)
    self.entries[key] = fresh
    return value
  end
  local on_error = function(err)
    log.warn(err)
  end
  local ok, value = xpcall(make, on_error, ...)
  return ok and store(value) or nil
end

Store.put = function(self, key, value)
  self.entries[key] = Entry.new(value)
end

-- Sweeps what is stale; not exported.
local function sweep(store)
  for key, entry in pairs(store.entries) do
    if not entry:fresh() then
      store.entries[key] = nil
      store.on_evict(key)
    end
  end
end

local walk
--- Walks nested tables.
walk = function(t, visit)
  for k, v in pairs(t) do
    visit(k, v)
    if type(v) == "table" then walk(v, visit) end
  end
end

M.Store = Store

--- The shared store.
function M.shared()
  if not M._shared then
    M._shared = Store({ policy = "fifo" })
  end
  return M._shared
end

M.sweep, M.walk = sweep, walk

function M.util.keys(t)
  local keys = {}
  for k in next, t do insert(keys, k) end
  table.sort(keys)
  return keys
end

-- Installs the cache as a global, for the console.
function cache_install()
  CACHE = M.shared()
  CACHE:put("installed", clock.now())
end

if clock.wants_timer then
  function M.tick()
    sweep(M.shared())
  end
end

local session = Store.new { policy = M.Policy.FIFO }
session:get("user", function() return M.shared():get("guest") end)
string.rep("-", 80):lower()
goto done
::done::
return M
