# frozen_string_literal: true

require "json"
require "bigdecimal"
require_relative "ledger/storage"
autoload :Exporter, "ledger/exporter"

# Keeps accounts and the postings between them.
module Ledger
  extend self

  VERSION = "1.4.0"
  CURRENCIES = %w[EUR USD JPY].freeze

  # Raised when a posting would overdraw.
  class Overdrawn < StandardError
    attr_reader :account

    def initialize(account, message = "overdrawn: #{account.name}")
      super(message)
      @account = account
    end
  end

  NotFound = Class.new(StandardError)

  # One movement of money.
  Posting = Struct.new(:from, :to, :amount, keyword_init: true) do
    def negative?
      amount.negative?
    end
  end

  # Things that can be written as JSON.
  module Serializable
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def from_json(text) = new(**JSON.parse(text, symbolize_names: true))
    end

    def to_json(*args)
      to_h.to_json(*args)
    end
  end

  class Account
    include Comparable
    include Serializable
    prepend Storage::Tracked

    # The owner as printed, and what is left.
    attr_accessor :name, :balance
    attr_writer :limit

    @@count = 0
    DEFAULT_LIMIT = BigDecimal("100")

    class << self
      attr_reader :registry

      # Opens an account, or finds it.
      def open(name, **options, &block)
        account = Account.new(name, **options)
        block&.call(account)
        (@registry ||= {})[name] ||= account
      end

      private

      def reset!
        @registry = nil
      end
    end

    # @param name [String]
    # @param limit [Numeric]
    def initialize(
      name,
      balance: 0,
      limit: DEFAULT_LIMIT
    )
      @name = name
      @balance = balance
      @limit = limit
      @storage = Ledger::Storage::File.new(name)
      @@count += 1
    end

    def self.count = @@count

    def <=>(other)
      balance <=> other.balance
    end

    def [](currency)
      @rates&.fetch(currency) { |missing| raise NotFound, missing }
    end

    def balance=(value)
      raise Overdrawn.new(self) if value < -limit

      @balance = value
    end

    alias_method :saldo, :balance
    alias total balance

    define_method(:frozen_until) do |date|
      date > Time.now
    end

    %w[day week].each do |unit|
      define_method("per_#{unit}") { balance / 7 }
    end

    # Moves money out of this account.
    private def withdraw(amount) # rubocop:disable Style/AccessModifierDeclarations
      self.balance -= amount
      notify :withdrawn, amount
    end

    protected

    def limit
      @limit || DEFAULT_LIMIT
    end

    def notify(event, *details)
      handler = ->(name) { puts "#{event}: #{name}" }
      handler.call(details.first)
    end
  end

  # Moves money from one account to the other.
  def transfer(from:, to:, amount:)
    posting = Posting.new(from: from, to: to, amount: amount)
    post posting
    log = Exporter::Log.new
    log << posting if defined?(Exporter)
  rescue Overdrawn => e
    warn e.message
  else
    Account.open("fees").balance += 1
  end

  module_function

  def post(posting)
    posting.from.send(:withdraw, posting.amount)
  end
end

class Ledger::Report < Ledger::Account
  include Ledger::Serializable, Enumerable

  def each(&)
    @rows.each(&)
  end

  def helper
    def inner_helper; end
  end
end

if RUBY_ENGINE == "jruby"
  def native? = false
else
  def native? = true
end

Ledger.transfer(from: Ledger::Account.open("a"), to: Ledger::Account.open("b"), amount: 5) if $PROGRAM_NAME == __FILE__
