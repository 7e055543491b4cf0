-- Links with which a browser downloads a file without an access token. A link must be opened within a minute.
create table download_tickets (
  token_hash bytea primary key,
  tenant_id bigint not null,
  user_id bigint not null,
  session_id uuid not null,
  -- The only address that may use the ticket.
  ip text not null,
  backup_id uuid not null references backups on delete cascade,
  expires_at timestamptz(3) not null,
  -- When the download began. Afterwards the ticket only continues an interrupted download.
  used_at timestamptz(3),
  -- The number of requests that continued the download. The service limits it.
  resumptions smallint not null default 0,
  constraint download_tickets__session foreign key (tenant_id, session_id)
    references sessions (tenant_id, id) on delete cascade
);
create index download_tickets__by_session on download_tickets (tenant_id, session_id);
create index download_tickets__by_backup on download_tickets (backup_id);
create index download_tickets__expired on download_tickets (expires_at);
call isolate('download_tickets');
grant select, insert, update, delete on download_tickets to wardkeep_app, wardkeep_platform;
