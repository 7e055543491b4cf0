/**
 * A response that is already JSON. No serializer removes undeclared fields from it, so the code that creates the text
 * must omit them.
 */
export class JsonText<T> {
  /** The type of the value in the text. Used only by the compiler, and never set. */
  declare readonly of?: T
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
