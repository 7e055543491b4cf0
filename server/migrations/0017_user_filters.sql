-- Filters of the list of users: rare values have an index, and every move between two values invalidates totals.
create index users__unverified on users (tenant_id, id) where email_verified_at is null;
create index users__pending on users (tenant_id, id) where is_pending and not is_active;

drop trigger users__move on users;
create trigger users__move after update on users for each row
  when ((old.tenant_id, old.role, old.is_active, old.is_pending, old.department_id, old.email_verified_at is null,
      old.totp_enabled_at is null, old.search) is distinct from
    (new.tenant_id, new.role, new.is_active, new.is_pending, new.department_id, new.email_verified_at is null,
      new.totp_enabled_at is null, new.search))
  execute function note_list_row('tenant_id');
