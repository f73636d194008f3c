// The catalogue of a library: what it holds, and who has borrowed it.

library library.catalogue;

import 'dart:async';
import 'dart:convert' show jsonDecode, utf8;

import 'package:collection/collection.dart';
import 'package:http/http.dart' as http;
import '../util/clock.dart' as clock show now;

export 'src/shelfmark.dart' hide parseMark;

part 'catalogue.g.dart';

const int maximumLoans = 5;
final Catalogue shared = Catalogue('main');
var openings = 0;

/// What decides whether somebody may borrow.
typedef Rule = bool Function(Reader reader, Item item);

/// The state of an item.
enum State {
  /// It stands on its shelf.
  present,
  borrowed,
  lost;

  bool get isAvailable => this == State.present;
}

/// Anything that can be looked up.
abstract class Named {
  String get name;
  void rename(String to);
  static int compare(Named one, Named other) => one.name.compareTo(other.name);
}

/// Counts what is done with it.
mixin Counted on Named {
  int _uses = 0;

  int get uses => _uses;

  void use() {
    _uses += 1;
  }
}

class Reader {
  const Reader(this.id, {this.limit = maximumLoans});

  final String id;
  final int limit;
}

/// A book, or whatever else is lent.
@immutable
class Item extends Named with Counted implements Comparable<Item> {
  static const String defaultShelf = 'A1';
  static int _made = 0;

  final String title;
  late final List<String> authors;
  State state = State.present;
  String? _shelf;

  Item(this.title, {List<String>? authors}) : authors = authors ?? const [] {
    _made++;
  }

  /// An item without a title.
  Item.untitled() : this('untitled');

  factory Item.fromJson(Map<String, dynamic> json) {
    final item = Item(json['title'] as String);
    item.shelf = json['shelf'];
    return item;
  }

  @override
  String get name => title;

  set shelf(String value) {
    _shelf = value.trim();
  }

  @override
  void rename(String to) => throw UnsupportedError('a title is for good');

  @override
  int compareTo(Item other) => title.compareTo(other.title);

  bool operator ==(Object other) => other is Item && other.title == title;
}

class Catalogue {
  Catalogue(this.name, [this.rules = const []]);

  final String name;
  final List<Rule> rules;
  final Map<String, Item> _items = {};

  /// Adds what a service knows of a subject.
  Future<int> load(Uri from) async {
    final answer = await http.get(from);
    final List<dynamic> rows = jsonDecode(utf8.decode(answer.bodyBytes));
    for (final row in rows) {
      add(Item.fromJson(row));
    }
    return rows.length;
  }

  void add(Item item) {
    _items
      ..remove(item.title)
      ..putIfAbsent(item.title, () => item);
    this.check(item);
  }

  void check(Item item) {}

  Stream<Item> available() async* {
    for (final item in _items.values.where((each) => each.state.isAvailable)) {
      yield item;
    }
  }
}

extension Lending on Catalogue {
  bool lend(Item item, Reader reader) {
    bool allows(Rule rule) {
      return rule(reader, item);
    }

    if (!rules.every(allows)) return false;
    item.use();
    item.state = State.borrowed;
    return true;
  }
}

/// Runs until the doors close.
Future<void> main(List<String> arguments) async {
  Reader reader = Reader('r1');
  var item = new Item('Emma');
  shared.add(item);
  shared.lend(item, reader);
  openings = openings + 1;
  print('${shared.name}: ${clock.now()}');
}
