/** Bodies that an operation receives as raw bytes and validates itself, such as signed messages. */
import Type, { type TSchema } from 'typebox'

/**
 * The `body` schema of an operation that reads raw bytes. Without a body, the handler receives an empty buffer. Neither
 * the content type nor the content is checked, and the operation must declare 422 itself.
 */
export const RawBody = Type.Unsafe<Buffer>({})

/** Returns true if the operation reads its body as raw bytes. */
export const takesBytes = ({ body }: { body?: TSchema }): boolean => body === RawBody
