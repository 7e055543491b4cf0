/**
 * An answer that is JSON already. No serializer leaves out what its schema does not declare: whoever makes
 * the text answers for that.
 */
export class JsonText<T> {
  /** What the text says; for types alone. */
  declare readonly of?: T
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
