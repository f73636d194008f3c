import Foundation
import struct Collections.Deque
@testable import MailCore
@_exported import MailKit

/// Messages kept at most.
public let capacity = 128
private var opened: Set<UUID> = []

typealias Handler = (Message) -> Void

precedencegroup Routing {
    associativity: left
}
infix operator ~>: Routing

/// What can be delivered.
///
/// Every kind of mail conforms.
public protocol Deliverable: Identifiable, Sendable where ID == UUID {
    associatedtype Address: Hashable = String
    var address: Address { get }
    static var retries: Int { get set }

    init(address: Address)
    /// Delivers to one address.
    func deliver(to address: Address, by deadline: Date?) async throws -> Receipt
    mutating func touch()
}

@frozen
public struct Message: Deliverable, Codable {
    public let id: UUID
    public var address: String
    var subject = "(none)", body: String?
    public static var retries = 3
    @Published private(set) var isRead: Bool = false

    /// The first line.
    var preview: String {
        let lines = body?.split(separator: "\n") ?? []
        return lines.first.map(String.init) ?? subject
    }

    var words: Int {
        get { preview.count }
        set { print(newValue) }
    }

    enum CodingKeys: String, CodingKey {
        case id, address
        case subject = "title"
    }

    public init(address: String) {
        self.id = UUID()
        self.address = address
    }

    init?(raw: [String: Any]) {
        guard let address = raw["address"] as? String else { return nil }
        self.init(address: address)
    }

    public func deliver(
        to address: String,
        by deadline: Date? = nil
    ) async throws -> Receipt {
        func stamp(_ date: Date) -> String { date.description }
        let receipt = Receipt(code: .accepted, at: stamp(Date()))
        try await Transport.shared.send(self, to: address)
        return receipt
    }

    mutating func touch() { isRead.toggle() }

    subscript(index: Int) -> Character? {
        get { body?[index] }
    }

    static func == (left: Message, right: Message) -> Bool {
        left.id == right.id
    }
}

/// How it went.
indirect enum Outcome<Failure: Error> {
    case delivered(at: Date)
    /// Try again later.
    case deferred(Outcome, retries: Int)
    case failed(Failure)

    var isFinal: Bool {
        if case .deferred = self { return false }
        return true
    }
}

open class Mailbox<Item: Deliverable>: NSObject, Sequence {
    public weak var delegate: MailboxDelegate?
    private lazy var queue = DispatchQueue(label: "mail")
    fileprivate let items: Deque<Item>

    public required init(items: [Item] = []) {
        self.items = Deque(items)
        super.init()
    }

    deinit {
        NotificationCenter.default.removeObserver(self)
    }

    @discardableResult
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Mailbox else { return false }
        return items.count == other.items.count
    }

    class func shared() -> Mailbox { Mailbox(items: []) }

    public func makeIterator() -> AnyIterator<Item> {
        var index = 0
        return AnyIterator { [items] in
            defer { index += 1 }
            return index < items.count ? items[index] : nil
        }
    }

    struct Options: OptionSet {
        let rawValue: Int
        static let urgent = Options(rawValue: 1 << 0)
    }
}

actor Transport {
    static let shared = Transport()
    private var sent: [UUID: Date] = [:]

    func send<T: Deliverable>(_ item: T, to address: T.Address) async throws {
        sent[item.id] = Date.now
    }
}

// MARK: - Conveniences

extension Message: CustomStringConvertible, Comparable {
    public var description: String { "\(subject) to \(address)" }

    public static func < (left: Message, right: Message) -> Bool {
        left.subject < right.subject
    }
}

extension Array where Element == Message {
    /// Those not read.
    func unread() -> [Message] { filter { !$0.isRead } }
}

#if os(macOS)
func notify(_ text: String) { NSSound.beep() }
#else
func notify(_ text: String) { print(text) }
#endif
