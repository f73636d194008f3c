/*
 * Licensed to everyone.
 */
package org.example.library;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.*;

import java.io.Closeable;
import java.io.IOException;
import java.util.*;
import java.util.function.Function;
import org.example.library.Catalog.Entry;

/**
 * Lends books to members.
 *
 * @param <M> who borrows
 */
@Service(name = "library")
public sealed abstract class Library<M extends Member & Comparable<M>> extends Catalog.Base<Book>
    implements Closeable, Iterable<Loan>, events.Source<M> permits CityLibrary {

  /** Days until a book is due. */
  public static final int DAYS = 28, GRACE = 3;

  private static final Logger LOG = Logger.getLogger(Library.class.getName());
  private final Map<String, List<Loan>> loans = new HashMap<>();
  @Inject @Named("clock") protected Clock clock;
  int open, closed[];

  // Sorts by what is due first.
  final Comparator<Loan> byDue = new Comparator<Loan>() {
    private int calls;

    @Override
    public int compare(Loan left, Loan right) {
      calls++;
      return left.due().compareTo(right.due());
    }
  };

  static {
    LOG.info("loaded");
  }

  protected Library() {
    this(Clock.systemUTC());
  }

  /** Makes a library that reads the time off a clock. */
  protected Library(final Clock clock, String... branches) {
    super(branches.length);
    this.clock = requireNonNull(clock, "clock");
  }

  abstract <R> Optional<R> find(Function<? super Book, ? extends R> how) throws IOException, NotFound;

  /**
   * Lends a book.
   */
  @Transactional
  @Deprecated(since = "2")
  public synchronized Loan lend(
      Book book,
      @NotNull M member) throws NotFound {
    var loan = new Loan(book, member.id(), LocalDate.now().plusDays(DAYS));
    List<Loan> known = loans.computeIfAbsent(member.id(), key -> new ArrayList<>());
    for (Loan each : known) {
      if (each.book() instanceof Book.Reference reference && reference.isFixed()) {
        throw new NotFound(reference.title());
      }
    }
    record Pair(Loan first, Loan second) {}
    Runnable log = () -> LOG.fine(new Pair(loan, null).toString());
    log.run();
    known.add(loan);
    return loan;
  }

  public Loan lend(String isbn, M member) throws NotFound {
    return lend(Book.parse(isbn), member);
  }

  @Override
  public Iterator<Loan> iterator() {
    return loans.values().stream().flatMap(List::stream).sorted(byDue).collect(toList()).iterator();
  }

  @Override
  public void close() throws IOException {
    try (Writer writer = open("loans"); var buffer = new BufferedWriter(writer)) {
      loans.forEach((key, value) -> buffer.append(key));
    } catch (UncheckedIOException | SecurityException failure) {
      throw new IOException(failure);
    }
  }

  /** How long a member may keep things. */
  public enum Tier implements Function<Integer, Integer> {
    BASIC,
    /** For those who pay. */
    GOLD(2) {
      @Override
      public Integer apply(Integer days) {
        return super.apply(days) + 7;
      }
    };

    private final int factor;

    Tier() { this(1); }

    Tier(int factor) { this.factor = factor; }

    @Override
    public Integer apply(Integer days) { return days * factor; }
  }

  private class Shelf<T extends Book> {
    T[] books;

    class Label {
      String text() { return Shelf.this.books[0].title(); }
    }
  }
}

/** What is lent to whom. */
record Loan(Book book, String member, @Future LocalDate due) implements Comparable<Loan> {
  static int count;

  Loan {
    count++;
  }

  Loan(Book book) { this(book, "", null); }

  public int compareTo(Loan other) { return due.compareTo(other.due); }
}

interface Member extends Named, Comparable<Member> {
  int MAX_LOANS = 10;

  String id();

  default boolean mayBorrow(Collection<? extends Loan> loans) {
    return switch (loans.size()) {
      case MAX_LOANS -> false;
      default -> Member.<Loan>allOf(loans).stream().noneMatch(Loan::isLate);
    };
  }

  static <T> List<T> allOf(Collection<? extends T> items) { return List.copyOf(items); }
}

@Retention(RetentionPolicy.RUNTIME)
@interface Audited {
  String value() default "";

  Class<? extends Throwable>[] ignore() default {};
}

final class NotFound extends Exception {
  NotFound(String title) { super(title); }
}
