-- Filters of the audit log: the entries of one request, and the entries from one address (ADR 0016). The service's own
-- entries have neither.
create index journal__by_request on journal (request_id) where request_id is not null;
-- Many entries share an address. Without the time, the index deduplicates them and takes about 11 bytes for each.
create index journal__by_ip on journal (ip, tenant_id) where ip is not null;
