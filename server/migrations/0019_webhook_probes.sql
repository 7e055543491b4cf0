-- Of a webhook that was deactivated by failures: when its receiver was last asked whether it answers again, and
-- since when it does.
alter table webhook_queues
  add column probed_at timestamptz(3),
  add column answered_at timestamptz(3);
