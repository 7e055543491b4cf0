-- Until when a console session may perform final acts: its user has entered the password again. Null if never.
alter table sessions add column confirmed_until timestamptz(3);
