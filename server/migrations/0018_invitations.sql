-- Users whom an administrator invites choose their password with the link of the invitation.
alter table users
  alter column password_hash drop not null,
  -- An administrator entered the address: its owner may sign in before confirming it.
  add column is_vouched boolean not null default false;

alter table account_tokens
  drop constraint account_tokens_purpose_check,
  add constraint account_tokens_purpose_check
    check (purpose in ('verify_email', 'reset_password', 'invitation'));
