"""index.db: what the index knows of the files of one repository, on all its branches and in all its worktrees.

    file       one row a file version: path, blob, language, counts. Its id comes from its content (file_version.py)
    body       the same version's larger parts: text, links, terms and uses, compressed, and the head of the file
    symbol     its definitions; `path` is the name inside the file, the module before it is composed when asked
    chunk      its stretches to search and show
    layer      one row a folder that was indexed (its working tree) and one a ref: the commit, how far the last run
               came, when, with which options. A ref's is the base, or laid over it
    manifest   layer, path → the version that is visible there, and what `stat` said of the file when it was read;
               or the reason why the file has none
    popularity layer, path → how many other files import the file; those that none does have no row
    dropped    versions that are not, or no more, to be found and may have documents in the lexical index
    segment    one row a pair of vector files (vectors.py): whose encoder's they are, and how many rows count
    vector     which rows of a segment are a version's, one a chunk
    seal       a digest of all that is kept of a version; one without it is damaged, and read anew (integrity.py)
    tally      how many rows each of the other tables has, and a digest of them all (tallies.py)

Only a manifest makes a version visible. The lexical index is written first and this database last, in one
transaction a batch, so a batch is seen whole or not at all and the lexical index may be ahead of this database but is
never behind it: versions about to get documents are noted in `dropped` until they are rows here. Removal goes the
other way around: here first, with the ids noted in `dropped`, then there.

The base is the default branch at a commit, whole. Every other ref is a difference to it: what the base has under a path
shows through where the ref's layer says nothing of that path, and GONE says that the ref has no such file. When the
base moves, what a ref saw through it is written into the ref's layer first, in the same transaction, so that no ref
ever shows another content than its own commit's. Counts of imports are laid over the base's in the same way. Refs are
kept for each scope: the folder in the repository that is the project, and whether tests and vendored code are in.
A folder's layer is whole: its stamps are its own.

A version that no manifest names keeps its rows for a day (a branch may come back) but not its documents: document
frequencies must be those of what is visible. They are written again from what is kept, without parsing.

Who imports whom is counted when a run has looked at the whole layer, and written with the generation it raises;
`counted` of the layer is that generation. Saves of single files leave the counts as they are.

The database is disposable: where its version is another than SCHEMA it is built anew beside the old one (folders.py).
"""

from __future__ import annotations

SCHEMA = 11
GONE = "gone"
"""The reason of a path that the base has and a ref laid over it has not."""

SEALED = "EXISTS (SELECT 1 FROM seal WHERE seal.file = file.id)"
"""The condition for rows of `file` that are whole: what is damaged counts as unknown, and is read anew."""

TABLES = """
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, blob BLOB NOT NULL, language TEXT NOT NULL, package TEXT NOT NULL,
    lines INTEGER NOT NULL, size INTEGER NOT NULL, error_nodes INTEGER NOT NULL, complaint TEXT NOT NULL,
    symbols INTEGER NOT NULL, chunks INTEGER NOT NULL, terms INTEGER NOT NULL,
    searchable INTEGER NOT NULL, unnamed_since REAL, on_branch INTEGER NOT NULL
);
CREATE INDEX file_path ON file (path);
CREATE INDEX file_unnamed ON file (unnamed_since) WHERE unnamed_since IS NOT NULL;
CREATE INDEX file_on_branch ON file (on_branch) WHERE on_branch;
CREATE TABLE body (file INTEGER PRIMARY KEY, text BLOB NOT NULL, links BLOB NOT NULL, terms BLOB NOT NULL,
    uses BLOB NOT NULL, head TEXT NOT NULL);
CREATE TABLE symbol (
    file INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
    signature TEXT NOT NULL, doc TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    name_line INTEGER NOT NULL, parent INTEGER NOT NULL, ordinal INTEGER NOT NULL, returns TEXT NOT NULL,
    tags TEXT NOT NULL, content_hash BLOB NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX symbol_name ON symbol (name COLLATE NOCASE);
CREATE TABLE chunk (
    file INTEGER NOT NULL, number INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    symbol INTEGER NOT NULL, title TEXT NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE TABLE layer (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '',
    scope TEXT NOT NULL DEFAULT '', base INTEGER, prefix TEXT NOT NULL DEFAULT '',
    generation INTEGER NOT NULL DEFAULT 0, complete INTEGER NOT NULL DEFAULT 0,
    tests INTEGER NOT NULL DEFAULT 1, vendor INTEGER NOT NULL DEFAULT 0,
    ref TEXT NOT NULL DEFAULT 'live', head TEXT NOT NULL DEFAULT '',
    module TEXT, go_version TEXT, finished_at REAL, seconds REAL, extractors TEXT NOT NULL DEFAULT '',
    excluded TEXT NOT NULL DEFAULT '{}', rules TEXT NOT NULL DEFAULT '{}', counted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (root, name, scope)
);
CREATE TABLE seal (file INTEGER PRIMARY KEY, digest BLOB NOT NULL);
CREATE TABLE manifest (
    layer INTEGER NOT NULL, path TEXT NOT NULL, file INTEGER, reason TEXT NOT NULL, detail TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    PRIMARY KEY (layer, path)
) WITHOUT ROWID;
CREATE INDEX manifest_file ON manifest (file, layer);
CREATE TABLE popularity (layer INTEGER NOT NULL, path TEXT NOT NULL, importers INTEGER NOT NULL,
    PRIMARY KEY (layer, path)) WITHOUT ROWID;
CREATE TABLE dropped (file INTEGER PRIMARY KEY);
CREATE TABLE segment (number INTEGER PRIMARY KEY AUTOINCREMENT, encoder TEXT NOT NULL, dimensions INTEGER NOT NULL,
    rows INTEGER NOT NULL);
CREATE TABLE vector (segment INTEGER NOT NULL, file INTEGER NOT NULL, first INTEGER NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (segment, file)) WITHOUT ROWID;
CREATE INDEX vector_file ON vector (file);
CREATE TABLE tally (name TEXT PRIMARY KEY, rows INTEGER NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;
"""
