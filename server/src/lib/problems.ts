/** The registry of request errors: code, status and message. A test compares `docs/reference/errors.md` with it. */
export const PROBLEMS = {
  not_authenticated: [401, 'Not authenticated'],
  invalid_token: [401, 'The access token is invalid or has expired. Refresh it or sign in again.'],
  invalid_credentials: [401, 'Invalid credentials'],
  invalid_refresh_token: [401, 'The refresh token is invalid or has expired. Sign in again.'],
  cross_site: [403, 'This request is only accepted from pages of this service.'],
  role_required: [403, 'Your role does not have access to this operation.'],
  other_tenant: [403, 'You only have access to your own tenant.'],
  superadmin_required: [403, 'Only a superadmin can do this.'],
  account_blocked: [403, 'This account is blocked. Ask your administrator to unblock it.'],
  tenant_inactive: [403, 'This tenant is deactivated. Contact the platform operator.'],
  not_found: [404, 'Not found'],
  method_not_allowed: [
    405,
    'This path does not support this method. The Allow header lists the supported methods.',
  ],
  encoded_body: [
    415,
    'Encoded request bodies are not supported. Send the body without Content-Encoding.',
  ],
  range_not_satisfiable: [
    416,
    'The requested range starts after the end of the file. Request a range within the file.',
  ],
  email_taken: [
    409,
    'email: an account with this address already exists in the tenant. Use another address.',
  ],
  subdomain_taken: [409, 'subdomain: this subdomain is taken. Choose another one.'],
  department_name_taken: [
    409,
    'name: a department with this name already exists. Choose another name.',
  ],
  address_confirmed: [
    409,
    'The user has confirmed their address. They can choose a new password with a reset link.',
  ],
  status_changed: [
    409,
    'if_status: the status of the user has changed. Read the user again before you continue.',
  ],
  own_account: [
    409,
    'user_id: you cannot block, delete or demote your own account. Ask another administrator.',
  ],
  last_superadmin: [
    409,
    'user_id: this is the last active superadmin. Create or activate another superadmin first.',
  ],
  tenant_protected: [
    409,
    'tenant_id: the platform tenant and your own tenant cannot be deleted or deactivated.',
  ],
  entry_not_sealed: [
    409,
    'This entry is not sealed in the transparency log yet. Try again in a few seconds.',
  ],
  audit_log_altered: [
    409,
    'The transparency log does not match its last signed head or its entries, so nothing is signed. See the runbook audit-log-finding.md.',
  ],
  audit_epoch_ended: [
    409,
    'No signed head confirms this entry, because an older copy replaced the database after it was sealed. Export the log to verify it.',
  ],
  reauth_required: [
    403,
    'Enter your password again before this action. Call POST /api/console/session/confirm.',
  ],
  console_session_required: [
    409,
    'Only a session of the console can be confirmed. Other sessions do not need it.',
  ],
  wrong_password: [403, 'The current password is wrong. Enter it again.'],
  email_unverified: [
    403,
    'Your e-mail address is not confirmed yet. Open the link in the e-mail, or request a new link.',
  ],
  sender_not_allowed: [403, 'Payment notifications from this IP address are not accepted.'],
  registration_closed: [
    403,
    'This tenant does not accept registrations. Ask its administrator for an account.',
  ],
  role_not_offered: [403, 'role: you can register as a doctor, nurse or receptionist only.'],
  password_change_required: [
    403,
    'You have to change your password first. Call PUT /api/users/me/password.',
  ],
  enrolment_required: [
    403,
    'You have to set up a second factor first. Call POST /api/auth/totp/setup.',
  ],
  totp_required: [401, 'A second-factor code is required. Send it as totp_code.'],
  wrong_code: [403, 'The code is wrong or was already used. Wait for the next code.'],
  ambiguous_host: [400, 'The request must have exactly one Host header.'],
  expectation_failed: [417, 'Expect: only 100-continue is supported. Leave the header out.'],
  unreadable_request: [400, 'Malformed HTTP request. Check the client that sends it.'],
  request_late: [408, 'The request took too long to arrive. Send it again.'],
  headers_too_large: [431, 'The headers are larger than 16 KiB. Send fewer or shorter headers.'],
  body_in_pieces: [
    400,
    'The body arrived in too many small chunks. Send it in one piece or in chunks of at least 256 bytes.',
  ],
  body_incomplete: [
    400,
    'The connection closed before the whole body arrived. Send the request again.',
  ],
  notification_unreadable: [
    400,
    'The body is not a valid notification. Send JSON with event and object.id.',
  ],
  invalid_signature: [400, 'Invalid signature'],
  link_expired: [400, 'The link is invalid or has expired. Request a new one.'],
  totp_enabled: [409, 'A second factor is already set up. Disable it first.'],
  totp_not_set_up: [
    409,
    'The setup of a second factor has not started. Call POST /api/auth/totp/setup first.',
  ],
  totp_demanded: [
    409,
    'Your tenant requires a second factor for your role, so you cannot disable it.',
  ],
  too_many_webhooks: [409, 'url: the tenant already has 50 webhooks. Delete one first.'],
  replay_running: [409, 'A replay of this webhook is running. Wait until it ends, or cancel it.'],
  replay_over: [409, 'The replay has already ended, so it cannot be cancelled.'],
  webhook_inactive: [409, 'The webhook is inactive. Activate it first.'],
  restoring: [503, 'A backup is being restored. Try again shortly.'],
  restore_refused: [409, 'This backup cannot be restored here.'],
  backup_running: [409, 'Another backup is running. Wait until it ends.'],
  restore_running: [409, 'Another restore is running. Wait until it ends.'],
  drill_running: [409, 'Another test restore is running. Wait until it ends.'],
  backup_in_use: [409, 'The backup is being created, read or restored. Wait until that ends.'],
  fix_not_proposed: [409, 'Only a proposed fix can be confirmed. Check the status of the fix.'],
  fix_busy: [409, 'The fix is already being applied. Wait until that ends.'],
  job_not_cancellable: [
    409,
    'This job cannot be cancelled, or it has already ended. Read its status.',
  ],
  rotation_running: [409, 'The keys are already being rotated. Wait until the rotation ends.'],
  key_in_use: [
    409,
    'This key is already in use. Send another key, or leave new_key out to have one generated.',
  ],
  backup_locked: [
    409,
    'The backup is locked in its store and cannot be deleted before locked_until.',
  ],
  backup_store_away: [
    503,
    'The backup store does not respond or rejects the request. Contact the platform operator.',
  ],
  backup_file_gone: [
    503,
    'The file of the backup is missing from its store. Contact the platform operator.',
  ],
  notification_settled: [409, 'Only an unverified or failed notification can be retried.'],
  link_code_invalid: [
    400,
    'The code is wrong, already used or older than 10 minutes. Send /start in the chat to get a new one.',
  ],
  chat_linked: [
    409,
    'code: the chat is linked to another account. Send /stop in the chat, then /start for a new code.',
  ],
  messenger_unconfigured: [
    503,
    'The messenger is not configured. Ask the platform operator to configure it.',
  ],
  wrong_secret: [403, 'The secret of the request is missing or wrong.'],
  identifier_taken: [
    409,
    'identifiers: another patient of the tenant already has one of these identifiers.',
  ],
  clinical_fields: [403, 'Your role cannot view or edit clinical fields.'],
  conflict: [
    409,
    'The record was changed by someone else or is still in use. Read it again and retry.',
  ],
  body_too_large: [413, 'The request body is too large for this operation. Send a smaller one.'],
  too_many_requests: [429, 'Too many requests. Retry after the time in the Retry-After header.'],
  inbox_full: [
    429,
    'Too many notifications are waiting for verification. Send this one again later.',
  ],
  internal: [500, 'Internal server error'],
  database_away: [503, 'The database is not reachable. Try again shortly.'],
  busy: [503, 'The record is being changed by other requests. Try again shortly.'],
  overloaded: [503, 'Too many sign-ins at once. Try again shortly.'],
  stopping: [503, 'The service is shutting down. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, detail: string]>

export type ProblemCode = keyof typeof PROBLEMS

interface ProblemOptions {
  /** A message that is more precise than the one in the registry. It must not contain secrets or patient data. */
  detail?: string
  /** Seconds for the `Retry-After` header. */
  retryAfter?: number
  cause?: unknown
}

/** A refusal for the caller: `{detail, code}` with the status from the registry. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly retryAfter: number | undefined
  /** True if the refusal reveals that a record exists which the caller may not see. Such refusals are journaled. */
  readonly isRevealing: boolean

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(options.detail ?? PROBLEMS[code][1], { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.status = PROBLEMS[code][0]
    this.retryAfter = options.retryAfter
    this.isRevealing = code === 'identifier_taken'
  }
}

/** Returns the message of a problem with a final full stop. For output that does not show the `code`. */
export const asSentence = ({ message }: Problem): string =>
  message.endsWith('.') ? message : `${message}.`

/** Returns the row if it exists. @param what the kind of record, in the caller's words @throws Problem 404 */
export function orNotFound<T>(row: T | undefined, what: string): T {
  if (row === undefined) throw new Problem('not_found', { detail: `No such ${what}` })
  return row
}

/** One fault of the input, in the format of Pydantic v2 (decisions §1). */
export interface ValidationIssue {
  /** `body`, `query`, `path` or `header`, then the names and positions that lead to the value. */
  loc: string[]
  msg: string
  type: string
}

/** The maximum number of reported issues. More could make the response larger than the request. */
const MAX_ISSUES = 50

/** The rejection of an invalid input: status 422. Above the maximum, the last issue counts the remaining ones. */
export class InvalidInput extends Error {
  readonly issues: readonly ValidationIssue[]

  constructor(issues: readonly ValidationIssue[]) {
    super('invalid input')
    this.name = 'InvalidInput'
    this.issues = issues.length > MAX_ISSUES ? shortened(issues) : issues
  }
}

function shortened(issues: readonly ValidationIssue[]): ValidationIssue[] {
  const listed = issues.slice(0, MAX_ISSUES - 1)
  const more = issues.length - listed.length
  const loc = issues[listed.length]?.loc.slice(0, 1) ?? []
  return [...listed, { loc, msg: `Value error, and ${more} more errors`, type: 'value_error' }]
}

/** Rejects the value at `loc` with the message `why`. Does nothing if `why` is undefined. */
export type Refuse = (loc: readonly string[], why: string | undefined) => void

/** Returns a 422 for a rule that a schema cannot express, such as a reference to a missing record. */
export function invalidValue(loc: string[], msg: string): InvalidInput {
  return new InvalidInput([{ loc, msg: `Value error, ${msg}`, type: 'value_error' }])
}
