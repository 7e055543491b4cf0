-- Filters for the deliveries of a webhook, and replays of failed deliveries only.

-- The class of the last response: 3, 4 or 5, and 0 without a response. Null after a success and before the first
-- attempt, so that deliveries to healthy receivers have no entry in the index below.
alter table webhook_deliveries add column status_class smallint check (status_class in (0, 3, 4, 5));

set local role wardkeep_platform;
update webhook_deliveries d set status_class = (
  select case when a.error is null then null when a.status_code is null then 0
    when a.status_code between 300 and 599 then a.status_code / 100 else 5 end
  from webhook_attempts a
  where a.webhook_id = d.webhook_id and a.entry_id = d.entry_id and a.event_at = d.event_at
  order by a.number desc, a.started_at desc limit 1)
where status in ('failed', 'pending') and attempts > 0;
reset role;

create index webhook_deliveries__by_event on webhook_deliveries (webhook_id, event, entry_id);
create index webhook_deliveries__by_class on webhook_deliveries (webhook_id, status_class, entry_id)
  where status_class is not null;

alter table webhook_replays
  -- True if the replay queues only deliveries that failed for good.
  add column only_failed boolean not null default false;
