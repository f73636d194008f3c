using System;
using System.Collections.Generic;
using System.Linq;
using static System.Math;
using Money = System.Decimal;
global using Accounts = System.Collections.Generic.Dictionary<string, Banking.Account>;

namespace Banking;

/// <summary>Told of every posting.</summary>
public delegate void Posted(object sender, Entry entry);

/// <summary>
/// What can be posted to.
/// </summary>
public interface IAccount : IEquatable<IAccount>, IDisposable
{
    string Id { get; }
    Money Balance { get; protected set; }
    event Posted? OnPosted;
    Money this[int day] { get; }

    /// <summary>Posts one entry.</summary>
    bool Post(Entry entry);
    static virtual int Precision => 2;
}

[Flags]
public enum Side : byte
{
    /// <summary>Goes out.</summary>
    Debit = 1,
    Credit,
}

/// <summary>One line of the ledger.</summary>
public readonly record struct Entry(Guid Id, Money Amount, Side Side)
{
    public static readonly Entry Empty = new(Guid.Empty, 0m, Side.Debit);
    public Money Signed => Side == Side.Debit ? -Amount : Amount;
    public static Entry operator -(Entry entry) => entry with { Amount = -entry.Amount };
    public static implicit operator Money(Entry entry) => entry.Amount;
}

public record Statement(string Title, IReadOnlyList<Entry> Entries);

[Serializable]
public abstract partial class AccountBase<TKey>(string id) : IAccount
    where TKey : notnull, IComparable<TKey>
{
    private const int MaxEntries = 10_000;
    protected readonly List<Entry> _entries = new();
    private int _posted, _refused;

    public string Id { get; } = id;
    public Money Balance { get; set; }
    public event Posted? OnPosted;

    public Money this[int day]
    {
        get { return _entries[day].Amount; }
    }

    /// <summary>Checks before it posts.</summary>
    /// <returns>Whether it was accepted.</returns>
    [Obsolete("use PostAsync")]
    public virtual bool Post(Entry entry)
    {
        if (!Validate(entry, out var reason))
        {
            _refused++;
            throw new LedgerException(reason);
        }

        bool Accepts(Side side) => side != 0;
        var clock = new Clock { Zone = "UTC" };
        _entries.Add(entry);
        Balance += entry.Signed;
        OnPosted?.Invoke(this, entry);
        return Accepts(entry.Side);
    }

    protected abstract bool Validate(
        Entry entry,
        out string reason);

    bool IEquatable<IAccount>.Equals(IAccount? other) => other?.Id == Id;

    public void Dispose() => GC.SuppressFinalize(this);

    ~AccountBase() => Dispose();
}

public sealed class Account : AccountBase<string>, ICloneable
{
    static Account() { }

    public Account(string id, Clock clock)
        : base(id)
    {
        Clock = clock;
    }

    public required Clock Clock { get; init; }

    protected override bool Validate(Entry entry, out string reason)
    {
        reason = nameof(entry);
        return Abs(entry.Amount) > 0;
    }

    public object Clone() => MemberwiseClone();

    private struct Slot
    {
        public Entry Entry;
        internal int? Next { get; set; }
    }
}

public class LedgerException : Exception
{
    public LedgerException(string message) : base(message) { }
}

public static class EntryExtensions
{
    public static Money Total<T>(this IEnumerable<T> entries, Func<T, Money>? pick = null)
        where T : struct
    {
        IEnumerator<T> each = entries.GetEnumerator();
        Func<T, Money> how = pick ?? (entry => 0m);
        return entries.Select(how).Aggregate(0m, (sum, next) => sum + next);
    }

#if !NET8_0_OR_GREATER
    public static Task<Money> TotalAsync(IAsyncEnumerable<Entry> entries) => throw new NotSupportedException();
#else
    public static async Task<Money> TotalAsync(IAsyncEnumerable<Entry> entries)
    {
        Money total = 0m;
        await foreach (Entry entry in entries)
        {
            total += entry.Signed;
        }

        return total;
    }
#endif
}
