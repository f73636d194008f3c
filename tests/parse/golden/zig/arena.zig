//! A bump allocator and a table built on it.
const std = @import("std");
const builtin = @import("builtin");
const Allocator = std.mem.Allocator;
const testing = std.testing;
const log = @import("util/log.zig").scoped(.arena);
pub const Table = @import("table.zig").Table;
pub usingnamespace @import("compat.zig");

/// How large a page is.
pub const page_size: usize = 4096;
const max_pages = if (builtin.mode == .Debug) 16 else 1 << 20;
var live_arenas: std.atomic.Value(usize) = .init(0);
threadlocal var scratch: ?*Arena = null;

pub const Error = error{
    /// Nothing is left.
    OutOfPages,
    Misaligned,
} || Allocator.Error;

const Color = enum(u8) {
    red,
    green = 3,
    /// Reserved.
    blue,
    _,

    pub const default: Color = .red;

    pub fn isWarm(self: Color) bool {
        return switch (self) {
            .red => true,
            else => false,
        };
    }
};

/// What a slot holds.
pub const Slot = union(enum) {
    empty,
    value: u64,
    page: *Page,
};

const Page = extern struct {
    next: ?*Page,
    used: usize align(8) = 0,
    bytes: [page_size]u8,
};

const Handle = opaque {
    extern fn handle_close(handle: *Handle) void;
};

pub const Callback = *const fn (page: *Page) void;

/// Hands out memory and frees it all at once.
pub const Arena = struct {
    const Self = @This();

    head: ?*Page = null,
    /// Where pages come from.
    child: Allocator,
    count: usize,
    on_full: ?Callback = null,

    pub const Options = struct {
        prefill: bool = false,
    };

    /// Makes an arena.
    pub fn init(child: Allocator, options: Options) Error!Arena {
        var arena = Arena{ .child = child, .count = 0 };
        const first: ?*Page = if (options.prefill) try arena.grow() else null;
        errdefer arena.deinit();
        arena.head = first;
        _ = live_arenas.fetchAdd(1, .monotonic);
        return arena;
    }

    pub fn deinit(self: *Self) void {
        while (self.head) |page| {
            self.head = page.next;
            self.child.destroy(page);
        }
        self.* = undefined;
    }

    // Not inlined: it is the slow path.
    noinline fn grow(self: *Self) !*Page {
        if (self.count >= max_pages) return error.OutOfPages;
        const page = try self.child.create(Page);
        page.* = .{ .next = self.head, .used = 0, .bytes = undefined };
        self.count += 1;
        if (self.on_full) |callback| callback(page);
        return page;
    }

    pub fn alloc(
        self: *Self,
        comptime T: type,
        n: usize,
    ) Error![]T {
        const size = @sizeOf(T) * n;
        const page = self.head orelse try self.grow();
        if (page.used + size > page_size) return @call(.auto, alloc, .{ self, T, n });
        defer page.used += size;
        return std.mem.bytesAsSlice(T, page.bytes[page.used..][0..size]);
    }
};

/// A growable list of `T`.
pub fn List(comptime T: type) type {
    return struct {
        items: []T = &.{},
        arena: *Arena,

        pub const Item = T;

        pub fn append(list: *@This(), item: T) Error!void {
            const grown = try list.arena.alloc(T, list.items.len + 1);
            @memcpy(grown[0..list.items.len], list.items);
            grown[list.items.len] = item;
            list.items = grown;
        }
    };
}

fn identity(x: anytype) @TypeOf(x) {
    const Local = struct {
        fn twice(y: u32) u32 {
            return y * 2;
        }
    };
    _ = Local.twice(2);
    return x;
}

extern "c" fn getpid() c_int;
export fn arena_count() callconv(.C) usize {
    return live_arenas.load(.seq_cst);
}
inline fn min(a: usize, b: usize) usize {
    return if (a < b) a else b;
}

comptime {
    std.debug.assert(@sizeOf(Page) >= page_size);
}

test "allocates across pages" {
    var arena = try Arena.init(testing.allocator, .{ .prefill = true });
    defer arena.deinit();
    var list: List(u32) = .{ .arena = &arena };
    try list.append(identity(@as(u32, 7)));
    try testing.expectEqual(Color.red.isWarm(), true);
    log.debug("pid {d} {d}", .{ getpid(), min(1, 2) });
}

test List {
    _ = Slot{ .value = 1 };
}
