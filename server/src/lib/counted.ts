/** A page of an array, with the number of all records, which the response states in the header `X-Total-Count`. */
export class Counted<T> {
  readonly items: T
  readonly total: number

  constructor(items: T, total: number) {
    this.items = items
    this.total = total
  }
}
