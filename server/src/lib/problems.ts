/**
 * The one registry of what can go wrong in a request: code, status and the sentence for the
 * caller. `docs/errors.md` is tested against it both ways.
 */
export const PROBLEMS = {
  not_authenticated: [401, 'Not authenticated'],
  invalid_token: [401, 'The access token is invalid or has expired; sign in or refresh it'],
  invalid_credentials: [401, 'Invalid credentials'],
  invalid_refresh_token: [401, 'The refresh token is invalid or has expired; sign in again'],
  cross_site: [403, 'Only pages of this service may send this request'],
  role_required: [403, 'Your role may not call this operation'],
  other_tenant: [403, 'You may act on your own tenant only'],
  superadmin_required: [403, 'Only a superadmin may do this'],
  account_blocked: [403, 'This account is blocked; ask your administrator to unblock it'],
  tenant_inactive: [403, 'This tenant is deactivated; ask the platform operator'],
  not_found: [404, 'Not found'],
  method_not_allowed: [
    405,
    'This path does not take this method. Allow lists the methods it takes.',
  ],
  encoded_body: [415, 'Send the body without Content-Encoding'],
  range_not_satisfiable: [416, 'Range: the file ends before it; ask for less'],
  email_taken: [409, 'email: this address already has an account in the tenant'],
  subdomain_taken: [409, 'subdomain: already taken; choose another'],
  department_name_taken: [409, 'name: the tenant already has a department of this name'],
  address_confirmed: [
    409,
    'The user has confirmed their address. They can choose a new password with a reset link.',
  ],
  own_account: [409, 'user_id: you cannot block, delete or demote yourself'],
  last_superadmin: [409, 'user_id: the last active superadmin must stay'],
  tenant_protected: [
    409,
    'tenant_id: the platform tenant and your own cannot be deleted or deactivated',
  ],
  wrong_password: [403, 'The current password is wrong'],
  email_unverified: [
    403,
    'Confirm your e-mail address first; ask for a new link if it has expired',
  ],
  sender_not_allowed: [403, 'Notifications are not taken from this address'],
  registration_closed: [
    403,
    'This tenant takes no registrations; ask its administrator for an account',
  ],
  role_not_offered: [403, 'role: registration is for doctors, nurses and receptionists'],
  password_change_required: [
    403,
    'Choose a new password first with PUT /api/users/me/password; this session can do nothing else',
  ],
  enrolment_required: [403, 'Set up a second factor first; this session can do nothing else'],
  totp_required: [401, 'A code of your second factor is needed: send it as totp_code'],
  wrong_code: [403, 'The code is wrong or was used already; wait for the next one'],
  ambiguous_host: [400, 'The request has to name one Host, and no more; send one'],
  expectation_failed: [417, 'Expect: only 100-continue is met; leave the header out'],
  unreadable_request: [400, 'This is no HTTP request; look at what sends it'],
  request_late: [408, 'The request took too long to arrive; send it again'],
  headers_too_large: [431, 'The headers are larger than 16 KiB; send less'],
  body_in_pieces: [
    400,
    'The body arrives in too many small pieces. Send it whole, or in pieces of 256 bytes or more.',
  ],
  body_incomplete: [400, 'The connection ended before the body did; send it again'],
  notification_unreadable: [400, 'The body is no notification: send JSON with event and object.id'],
  invalid_signature: [400, 'Invalid signature'],
  link_expired: [400, 'The link is invalid or has expired; ask for a new one'],
  totp_enabled: [409, 'A second factor is set up already; disable it first'],
  totp_not_set_up: [409, 'No second factor is being set up; start with totp/setup'],
  totp_demanded: [409, 'Your tenant demands a second factor of your role'],
  too_many_webhooks: [409, 'url: the tenant has 50 webhooks already; delete one first'],
  replay_running: [409, 'A replay of this webhook is under way; wait for its end or cancel it'],
  replay_over: [409, 'Nothing of the replay is left to cancel'],
  webhook_inactive: [409, 'The webhook is inactive; activate it first'],
  restoring: [503, 'A backup is being restored; try again shortly'],
  restore_refused: [409, 'The backup cannot be restored here'],
  backup_running: [409, 'Another backup is being made; wait for its end'],
  restore_running: [409, 'Another restore is under way; wait for its end'],
  backup_in_use: [409, 'The backup is being made, read or restored; wait for its end'],
  fix_not_proposed: [409, 'Only a fix that is proposed can be confirmed; read its status'],
  fix_busy: [409, 'The fix is being applied already; wait for the end'],
  rotation_running: [409, 'The keys are being rotated already; wait for the end'],
  key_in_use: [409, 'This key is in use already; give another, or none to have one made'],
  backup_locked: [409, 'The store keeps the backup until its lock ends; see locked_until'],
  backup_store_away: [
    503,
    'The store of the backups does not answer, or refuses; tell the operator',
  ],
  backup_file_gone: [503, 'The file of the backup is not where it was kept; tell the operator'],
  notification_settled: [
    409,
    'Only a notification that is unverified or has failed can be tried again',
  ],
  link_code_invalid: [
    400,
    'The code is wrong, was used already or is older than 10 minutes; type /start in the chat for a new one',
  ],
  chat_linked: [
    409,
    'code: the chat is linked with another account; type /stop in the chat, then /start for a new code',
  ],
  messenger_unconfigured: [503, 'No messenger is set up for this service; ask its operator'],
  wrong_secret: [403, 'The secret of the notification is missing or wrong'],
  identifier_taken: [409, 'identifiers: another patient of the tenant has one of these'],
  clinical_fields: [403, 'Your role neither sees nor writes clinical fields'],
  conflict: [
    409,
    'The record was changed by someone else or is still in use; read it again and retry',
  ],
  body_too_large: [413, 'The body is larger than the operation takes; send less'],
  too_many_requests: [429, 'Too many requests; wait as long as Retry-After says'],
  inbox_full: [429, 'Too many notifications wait unverified; send it again later'],
  internal: [500, 'Internal server error'],
  database_away: [503, 'The database cannot be reached; try again shortly'],
  busy: [503, 'The record is being changed by others; try again shortly'],
  overloaded: [503, 'Too many sign-ins at once; try again shortly'],
  stopping: [503, 'The service is stopping; try again shortly'],
} as const satisfies Record<string, readonly [status: number, detail: string]>

/** A code of the registry, as the `code` of an error body. */
export type ProblemCode = keyof typeof PROBLEMS

interface ProblemOptions {
  /** A more exact sentence for the caller than the registry's; never a secret or patient datum. */
  detail?: string
  /** Seconds for the `Retry-After` header. */
  retryAfter?: number
  cause?: unknown
}

/** A refusal that the caller is told about: `{detail, code}` with the registry's status. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly retryAfter: number | undefined
  /** True for a refusal that reveals whether a record exists that the caller may not see. Such refusals are journaled. */
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

/** Returns the row where there is one. @param what the kind of record, in the words of the caller @throws Problem 404 */
export function orNotFound<T>(row: T | undefined, what: string): T {
  if (row === undefined) throw new Problem('not_found', { detail: `There is no such ${what}` })
  return row
}

/** One fault of the input, in the vocabulary of Pydantic v2 (decisions §1). */
export interface ValidationIssue {
  /** `body`, `query`, `path` or `header`, then the names and positions that lead to the value. */
  loc: string[]
  msg: string
  type: string
}

/** More issues than this help nobody, and would make the answer larger than the question. */
const MAX_ISSUES = 50

/** The input is refused as a whole: 422 with every issue found; the fiftieth says how many more there are. */
export class InvalidInput extends Error {
  readonly issues: readonly ValidationIssue[]

  constructor(issues: readonly ValidationIssue[]) {
    super('invalid input')
    this.name = 'InvalidInput'
    this.issues = issues.length > MAX_ISSUES ? shortened(issues) : issues
  }
}

function shortened(issues: readonly ValidationIssue[]): ValidationIssue[] {
  const told = issues.slice(0, MAX_ISSUES - 1)
  const more = issues.length - told.length
  const loc = issues[told.length]?.loc.slice(0, 1) ?? []
  return [...told, { loc, msg: `Value error, and ${more} more faults`, type: 'value_error' }]
}

/** Refuses the value at `loc` with a sentence; does nothing where there is no sentence. */
export type Refuse = (loc: readonly string[], why: string | undefined) => void

/** A 422 for a rule that a schema cannot say, such as a reference to a missing record. */
export function invalidValue(loc: string[], msg: string): InvalidInput {
  return new InvalidInput([{ loc, msg: `Value error, ${msg}`, type: 'value_error' }])
}
