create table sessions (
  -- The jti of the session's access tokens.
  id uuid primary key,
  tenant_id bigint not null,
  user_id bigint not null,
  -- The network of the sign-in, by which the user is known; refreshes do not touch it.
  signed_in_from text,
  -- The address of the last use.
  ip text,
  user_agent text,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  -- Moves on by so much with every refresh, but never past the absolute end.
  idle_seconds integer not null,
  expires_at timestamptz(3) not null,
  absolute_expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  end_reason text,
  unique (tenant_id, id),
  constraint sessions__user foreign key (tenant_id, user_id)
    references users (tenant_id, id) on delete cascade
) with (fillfactor = 75);
create index sessions__live on sessions (tenant_id, user_id, created_at) where ended_at is null;
-- Not on what every refresh moves: it would rewrite the indexes each time.
create index sessions__expired on sessions (absolute_expires_at);
create index sessions__ended on sessions (ended_at) where ended_at is not null;
call isolate('sessions');
grant select, insert, update, delete on sessions to wardkeep_app, wardkeep_platform;

create table refresh_tokens (
  token_hash bytea primary key,
  tenant_id bigint not null,
  session_id uuid not null,
  issued_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  spent_at timestamptz(3),
  -- With the spent token itself this makes its successor again, so a lost answer can be repeated.
  successor_salt bytea,
  constraint refresh_tokens__session foreign key (tenant_id, session_id)
    references sessions (tenant_id, id) on delete cascade
) with (fillfactor = 75);
create index refresh_tokens__by_session on refresh_tokens (tenant_id, session_id);
create index refresh_tokens__expired on refresh_tokens (expires_at);
call isolate('refresh_tokens');
grant select, insert, update, delete on refresh_tokens to wardkeep_app, wardkeep_platform;

-- The keys that sign access tokens. Private parts are sealed with the root key.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_key bytea not null,
  created_at timestamptz(3) not null,
  retired_at timestamptz(3)
);
create unique index signing_keys__one_signs on signing_keys ((true)) where retired_at is null;
grant select, insert, update, delete on signing_keys to wardkeep_platform;
