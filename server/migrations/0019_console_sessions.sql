-- Sessions of the console: their refresh token lives in a cookie, and they end when nobody uses them for a while.
alter table sessions add column is_console boolean not null default false;
