"""The team server: many repositories, many machines, the answers of a laptop.

1. PostgreSQL is the record: repositories, published refs, file versions, jobs, nodes, tokens, memory, usage, audit.
   Nothing else has to be backed up.
2. A node is the local product over a replica: it keeps a clone, takes the file versions it lacks from the record,
   builds the same index as a laptop does and answers through the same registry.
3. Content addresses do the rest: a version is known by path, content and reader, so what one machine has parsed no
   other parses again, and a version that is lacking is parsed where it is needed. The record makes indexing fast; it
   is never what makes an answer right.
4. Jobs and membership live in the database: workers take jobs with leases, nodes keep a heartbeat, a repository belongs
   to the two nodes that rendezvous hashing names among the living. Notifications wake everybody, polling is the net.
5. Every answer is authorised for its token and repository. A repository that a token may not read does not exist.
"""
