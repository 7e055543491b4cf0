-- A log ends when an older copy replaced the database. The log of the next epoch continues it (ADR 0042).
alter table audit_logs add column ended_at timestamptz(3);
create unique index audit_logs__current on audit_logs (tenant_id) where ended_at is null;
