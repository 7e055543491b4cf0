-- Forwarders of the journal (ADR 0043): consumers that send entries to another system. One process at a time sends.
alter table journal_consumers
  add column epoch bigint not null default 0,
  add column leased_until timestamptz(3),
  -- The number of entries up to the position. The next entry has the sequence number after it.
  add column sequence bigint not null default 0;
