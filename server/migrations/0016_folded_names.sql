-- Names of users and departments as lists are ordered by and searched for: folded by the service (lib/fold.ts), then the
-- name itself behind U+0001. A name that the service has not folded yet has a key in lower case.
create function key_unfolded_name() returns trigger
language plpgsql
as $$
declare
  -- The column of the name.
  name text := to_jsonb(new) ->> tg_argv[0];
begin
  if new.name_key is null or (tg_op = 'UPDATE' and new.name_key = old.name_key
    and name <> to_jsonb(old) ->> tg_argv[0])
  then
    new.name_key := lower(name) || E'\x01' || name;
    new.is_folded := false;
  end if;
  return new;
end $$;

alter table users
  add column name_key text collate "C",
  add column is_folded boolean not null default false;
alter table departments
  add column name_key text collate "C",
  add column is_folded boolean not null default false,
  -- True for an older department whose name folds to that of another one of its tenant.
  add column is_double boolean not null default false;

set local role wardkeep_platform;
update users set name_key = lower(full_name) || E'\x01' || full_name;
update departments set name_key = lower(name) || E'\x01' || name;
reset role;

alter table users alter column name_key set not null;
alter table departments alter column name_key set not null;

create trigger users__key_name before insert or update on users
  for each row execute function key_unfolded_name('full_name');
create trigger departments__key_name before insert or update on departments
  for each row execute function key_unfolded_name('name');

-- Search by the folded name, the name as it is and the address.
drop trigger users__move on users;
alter table users drop column search;
alter table users add column search text not null
  generated always as (lower(name_key) || ' ' || lower(email)) stored;
create index users__search on users using gin (search gin_trgm_ops);
create trigger users__move after update on users for each row
  when ((old.tenant_id, old.role, old.is_active, old.search) is distinct from
    (new.tenant_id, new.role, new.is_active, new.search))
  execute function note_list_row('tenant_id');

drop index users__by_name, users__all_by_name, departments__by_name, departments__name;
create index users__by_name on users (tenant_id, name_key, id);
create index users__all_by_name on users (name_key, id);
create index users__unfolded on users (id) where not is_folded;
create index departments__by_name on departments (tenant_id, name_key, id);
create index departments__unfolded on departments (id) where not is_folded;
create unique index departments__name on departments (tenant_id, split_part(name_key, E'\x01', 1))
  where not is_double;

-- Search tokens of patients are made of folded texts: rows of an earlier fold are tokenised again.
alter table patients add column fold_version smallint not null default 1;
create index patients__old_fold on patients (fold_version, id);
