/** Limits of request bodies (decisions §1). Bodies of unauthenticated callers must be cheap to read. */
import type { AnyOperation } from './operation.ts'

const KIB = 1024

/** The limit for operations without a token and for requests that match no operation. */
export const OPEN_BODY_LIMIT = 16 * KIB
const BODY_LIMIT = 64 * KIB
/** The limit for operations that accept a free-form object or a long text. */
const LONG_BODY_LIMIT = 128 * KIB
const LONG_TEXT = 16 * KIB

/** Returns the maximum body size in bytes: the declared `bodyLimit`, or the default for the operation's kind. */
export function bodyLimitOf({ access, body, bodyLimit }: AnyOperation): number {
  if (bodyLimit !== undefined) return bodyLimit
  if (!access.roles) return OPEN_BODY_LIMIT
  return takesLongBodies({ body }) ? LONG_BODY_LIMIT : BODY_LIMIT
}

/** Returns true if the operation accepts a free-form object or a long text. */
export function takesLongBodies({ body }: Pick<AnyOperation, 'body'>): boolean {
  return body !== undefined && takesMuch(body)
}

function takesMuch(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { freeForm, maxLength = 0 } = schema as { freeForm?: boolean; maxLength?: number }
  return freeForm === true || maxLength >= LONG_TEXT || Object.values(schema).some(takesMuch)
}

export const showBytes = (bytes: number): string =>
  bytes % KIB === 0 ? `${bytes / KIB} KiB` : `${bytes} bytes`
