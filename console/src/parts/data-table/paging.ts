/** Positions in a list: numbered pages up to the API's limit, and cursors after that. */

/** The API returns numbered pages only up to this many records. */
export const MAX_NUMBERED = 10_000

/** The position in a list: a numbered page, or the rows after a record. The URL contains it. */
export interface ListPosition {
  readonly page?: number
  readonly after?: string
}

/** The page info that the API returns with the records of a page. */
export interface PageInfo {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly total_estimated?: boolean
  readonly next: string | null
}

/** The possible numbers of rows per page. */
export const PAGE_SIZES = [20, 50, 100] as const

/** Returns the position of the next page, or undefined on the last one. */
export function nextPosition(position: ListPosition, info: PageInfo): ListPosition | undefined {
  if (info.next === null) return undefined
  const page = info.page + 1
  if (position.after === undefined && page * info.limit <= MAX_NUMBERED) return { page }
  return { after: info.next }
}

/** Returns the position of the previous page, or of the first page if the position is a cursor. */
export function previousPosition(position: ListPosition, info: PageInfo): ListPosition | undefined {
  if (position.after !== undefined) return {}
  if (info.page <= 1) return undefined
  return info.page === 2 ? {} : { page: info.page - 1 }
}

/** The numbers of the first and the last row of a page; undefined after a cursor. */
export function rowRange(
  position: ListPosition,
  info: PageInfo,
  rowCount: number,
): { first: number; last: number } | undefined {
  if (position.after !== undefined || rowCount === 0) return undefined
  const first = (info.page - 1) * info.limit + 1
  return { first, last: first + rowCount - 1 }
}
