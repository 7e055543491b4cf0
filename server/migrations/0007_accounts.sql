-- Sessions, the tokens and keys behind them, links sent by mail, second factors and throttles.
create table sessions (
  -- The jti of the session's access tokens.
  id uuid primary key,
  tenant_id bigint not null,
  user_id bigint not null,
  -- The network of the sign-in, used to recognise known pairs of user and network. Refreshes do not change it.
  signed_in_from text,
  -- The address of the last request.
  ip text,
  user_agent text,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  -- Seconds by which each refresh extends the session, up to its absolute end.
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
-- Indexes avoid columns that every refresh changes.
create index sessions__expired on sessions (absolute_expires_at);
create index sessions__ended on sessions (ended_at) where ended_at is not null;
-- Used by the deletion of a user, and to find the networks of earlier sign-ins.
create index sessions__by_user on sessions (tenant_id, user_id, signed_in_from);
call isolate('sessions');
grant select, insert, update, delete on sessions to wardkeep_app, wardkeep_platform;

-- Returns true for a session that has not ended, and for null. Raises an error once the session has ended.
-- Locks the session until the transaction ends, so an entry of the session never follows the entry that ended it.
-- A transaction that ends its own session can still write its entry.
create function session_holds(session uuid) returns boolean
language plpgsql as $$
begin
  if session is null then return true; end if;
  perform from public.sessions s
  where s.id = session and (s.ended_at is null or s.xmin = pg_current_xact_id()::xid) for share;
  if not found then
    raise exception 'the session has ended'
      using errcode = 'foreign_key_violation', constraint = 'sessions__live';
  end if;
  return true;
end $$;
revoke execute on function session_holds from public;
grant execute on function session_holds to wardkeep_app, wardkeep_platform;

create table refresh_tokens (
  token_hash bytea primary key,
  tenant_id bigint not null,
  session_id uuid not null,
  issued_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  spent_at timestamptz(3),
  -- Together with the spent token, derives its successor again, so that a lost response can be repeated (ADR 0005).
  successor_salt bytea,
  constraint refresh_tokens__session foreign key (tenant_id, session_id)
    references sessions (tenant_id, id) on delete cascade
) with (fillfactor = 75);
create index refresh_tokens__by_session on refresh_tokens (tenant_id, session_id);
create index refresh_tokens__expired on refresh_tokens (expires_at);
call isolate('refresh_tokens');
grant select, insert, update, delete on refresh_tokens to wardkeep_app, wardkeep_platform;

-- The keys that sign access tokens. Private keys are encrypted with the root key.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_key bytea not null,
  created_at timestamptz(3) not null,
  retired_at timestamptz(3)
);
create unique index signing_keys__one_signs on signing_keys ((true)) where retired_at is null;
grant select, insert, update, delete on signing_keys to wardkeep_platform;

-- Tokens in links sent by mail, one per user and purpose. A new token replaces the old one.
create table account_tokens (
  tenant_id bigint not null,
  user_id bigint not null,
  purpose text not null check (purpose in ('verify_email', 'reset_password')),
  token_hash bytea not null constraint account_tokens__hash unique,
  -- The address the link was sent to, and which it confirms.
  email text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, purpose),
  constraint account_tokens__user foreign key (tenant_id, user_id)
    references users (tenant_id, id) on delete cascade
);
create index account_tokens__expired on account_tokens (expires_at);
call isolate('account_tokens');
grant select, insert, update, delete on account_tokens to wardkeep_app, wardkeep_platform;

create table second_factors (
  user_id bigint primary key,
  tenant_id bigint not null,
  -- Encrypted with the tenant's data key.
  sealed_secret bytea not null,
  confirmed_at timestamptz(3),
  -- The time step of the last accepted code. Codes of this or an earlier step are rejected.
  last_step bigint not null default 0,
  created_at timestamptz(3) not null default now(),
  constraint second_factors__user foreign key (tenant_id, user_id)
    references users (tenant_id, id) on delete cascade
);
call isolate('second_factors');
call seal('second_factors', 'user_id', 'sealed_secret');
grant select, insert, update, delete on second_factors to wardkeep_app, wardkeep_platform;

create table recovery_codes (
  user_id bigint not null,
  tenant_id bigint not null,
  code_hash bytea not null,
  used_at timestamptz(3),
  primary key (user_id, code_hash),
  constraint recovery_codes__user foreign key (tenant_id, user_id)
    references users (tenant_id, id) on delete cascade
);
call isolate('recovery_codes');
grant select, insert, update, delete on recovery_codes to wardkeep_app, wardkeep_platform;

-- Counts of failed guesses, by account and by address. Unlogged, because losing them in a crash is acceptable.
create unlogged table throttles (
  key bytea primary key,
  failures integer not null,
  free_at timestamptz(3) not null,
  forget_at timestamptz(3) not null
);
create index throttles__forgotten on throttles (forget_at);
grant select, insert, update, delete on throttles to wardkeep_platform;
