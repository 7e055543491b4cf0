/**
 * A response that is already JSON. No serializer removes fields that the schema does not declare, so the code that
 * creates the text must leave them out.
 */
export class JsonText<T> {
  /** The type of the value in the text. Used by the compiler only and never set. */
  declare readonly of?: T
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
