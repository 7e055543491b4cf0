/** How large a body an operation takes (decisions §1): what a stranger sends costs little to read. */
import type { AnyOperation } from './operation.ts'

const KIB = 1024

/** Where no token is asked for, and of requests that are for no operation. */
export const OPEN_BODY_LIMIT = 16 * KIB
const BODY_LIMIT = 64 * KIB
/** Where a free-form object or a long text is taken. */
const LONG_BODY_LIMIT = 128 * KIB
const LONG_TEXT = 16 * KIB

/** The bytes that a body of the operation may have: what it declares, else by its kind. */
export function bodyLimitOf({ access, body, bodyLimit }: AnyOperation): number {
  if (bodyLimit !== undefined) return bodyLimit
  if (!access.roles) return OPEN_BODY_LIMIT
  return takesLongBodies({ body }) ? LONG_BODY_LIMIT : BODY_LIMIT
}

/** Whether the operation takes a free-form object or a long text. */
export function takesLongBodies({ body }: Pick<AnyOperation, 'body'>): boolean {
  return body !== undefined && takesMuch(body)
}

function takesMuch(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { freeForm, maxLength = 0 } = schema as { freeForm?: boolean; maxLength?: number }
  return freeForm === true || maxLength >= LONG_TEXT || Object.values(schema).some(takesMuch)
}

/** A limit as people read it. */
export const showBytes = (bytes: number): string =>
  bytes % KIB === 0 ? `${bytes / KIB} KiB` : `${bytes} bytes`
