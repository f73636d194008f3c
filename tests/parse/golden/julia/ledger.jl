"Accounts, and the entries that move money between them."
module Ledger

using Dates
using Printf: @sprintf
import Base: show, length
import JSON, Statistics
import ..Currencies: Currency, convert_to as exchange

include("reports.jl")

export Account, Entry, post!, balance

abstract type Record end
abstract type Owned{T} <: Record end
primitive type Checksum 32 end

@enum Side debit credit

const MAX_ENTRIES = 10_000
const Amount = Union{Int, Rational{Int}}
default_currency = :eur

"""
    Entry(account, amount; memo)

One line of the ledger: an amount on one side of an account.
"""
struct Entry{T<:Real} <: Record
    account::Symbol
    amount::T
    side::Side
    memo::String
    Entry(account, amount::T; memo = "") where {T<:Real} = new{T}(account, abs(amount), side_of(amount), memo)
end

# An account holds the entries that were posted to it.
mutable struct Account{T} <: Owned{T}
    name::Symbol
    entries::Vector{Entry{T}}
    closed
    opened::Date

    function Account{T}(name::Symbol) where {T}
        account = new{T}(name, Entry{T}[], false, today())
        finalizer(report_unbalanced, account)
        return account
    end
end

struct Nobody end

Account(name::AbstractString) = Account{Float64}(Symbol(name))

side_of(amount)::Side = amount < 0 ? credit : debit

"""
Post an entry; the account must be open.
"""
function post!(account::Account{T}, entry::Entry{T}; strict::Bool = true)::Int where {T}
    if account.closed
        strict && throw(ArgumentError("account $(account.name) is closed"))
        return 0
    end
    total = length(account)
    total < MAX_ENTRIES || error("too many entries")
    check(e) = e.amount >= 0
    check(entry) && push!(account.entries, entry)
    @debug "posted" entry.memo
    return total + 1
end

function balance(account::Account, at::Date = today())
    signed = map(account.entries) do entry
        entry.side == debit ? entry.amount : -entry.amount
    end
    sum(signed; init = 0)
end

# A balance in another currency.
balance(account::Account, currency::Currency) = exchange(balance(account), currency)

Base.length(account::Account) = length(account.entries)
Base.:+(a::Entry, b::Entry) = Entry(a.account, a.amount + b.amount)

function Base.show(io::IO, account::Account)
    print(io, "Account(", account.name, ", ", @sprintf("%.2f", balance(account)), ")")
end

"Entries of several accounts, the largest first."
@inline function largest(accounts::Vector{<:Account}, count::Integer)
    every = [entry for account in accounts for entry in account.entries]
    sort!(every; by = entry -> entry.amount, rev = true)
    first.(Iterators.partition(every, count))
end

(account::Account)(amount) = post!(account, Entry(account.name, amount))

macro posting(account, amount)
    quote
        post!($(esc(account)), Entry(:manual, $(esc(amount))))
    end
end

report_unbalanced(::Nobody) = nothing

function report_unbalanced end

module Rounding

using ..Ledger: Entry

const PLACES = 2

rounded(entry::Entry) = round(entry.amount; digits = PLACES)

function total(entries)
    sum = 0.0
    for entry in entries
        sum += rounded(entry)
    end
    return sum
end

end # Rounding

end # Ledger
