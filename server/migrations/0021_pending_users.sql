-- Who registered and waits for approval, apart from who is blocked. It tells something of inactive users alone: a
-- node of before, which knows nothing of it, leaves it set where it lets somebody in.
alter table users add column is_pending boolean not null default false;
