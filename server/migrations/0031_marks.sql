-- Marks show that the service wrote an entry (ADR 0042): the salts of its commitments, and a MAC. Nodes of the older
-- release write none.
alter table journal add column who_salt bytea, add column what_salt bytea, add column mac bytea;

-- Whether the mark of a leaf's entry was valid. Leaves of the older release have none.
alter table audit_leaves add column mark text not null default 'none';
-- Finds copies of an entry, which have the same salts.
create index audit_leaves__by_salt on audit_leaves using hash (who_salt);

-- When this database began to write marks. A database without earlier entries has no row.
create table journal_marks (
  since timestamptz(3) not null
);
grant select on journal_marks to wardkeep_platform;
insert into journal_marks select now() where exists (select from journal);

-- The size in the last anchor of the log, which the log of the platform has.
alter table audit_logs add column anchored_size bigint not null default 0;
