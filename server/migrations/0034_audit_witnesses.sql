-- Rotation of the keys that sign the heads of transparency logs (ADR 0042). A key that a lost root key had encrypted keeps
-- its row without a private key, so that the logs keep their names and earlier heads can be verified.
alter table audit_keys alter column sealed_private_key drop not null;
-- Heads are signed in the scope of their tenant. Private keys are encrypted with the root key.
grant select on audit_keys to wardkeep_app;

-- The witnesses of the platform's log: the last head that each has cosigned, and its last failure.
create table audit_witnesses (
  -- The name of the log. A restored copy has another one.
  origin text not null,
  -- The verifier key of the witness.
  key text not null,
  -- The size of the last cosigned head. The next proof begins there.
  size bigint not null default 0,
  -- The last cosigned head, with the signatures of the log and of the witness.
  checkpoint text,
  cosigned_at timestamptz(3),
  failure text,
  failing_since timestamptz(3),
  -- Whether the witness knows another history of the log.
  contradicts boolean not null default false,
  primary key (origin, key)
);
grant select, insert, update on audit_witnesses to wardkeep_platform;
