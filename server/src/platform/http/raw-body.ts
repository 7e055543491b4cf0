/** A body that the operation judges for itself, such as a signed one: the bytes as they came. */
import Type, { type TSchema } from 'typebox'

/**
 * As the `body` of an operation: the handler gets the bytes, none for no body. Neither their content
 * type nor what they say is looked at, and a 422 is the operation's own to declare.
 */
export const RawBody = Type.Unsafe<Buffer>({})

/** Whether the operation takes the bytes of its body. */
export const takesBytes = ({ body }: { body?: TSchema }): boolean => body === RawBody
