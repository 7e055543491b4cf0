-- A bot whose provider does not answer for long: nothing goes out, and nobody can be linked.
alter table messenger_bot
  drop constraint messenger_bot_state_check,
  add constraint messenger_bot_state_check
    check (state in ('new', 'ok', 'deaf', 'conflict', 'refused', 'away'));

-- Notifications of one provider, which may be few among millions of the other's.
create index payment_notifications__of_provider on payment_notifications (provider, id);
