-- True for a payment that the provider marks as a test: no money has moved, and no sum counts it.
alter table payments add column test boolean not null default false;
