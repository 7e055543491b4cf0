import { formatNumber } from '../../words/numbers.ts'

export const dataTableTexts = {
  sortedBy: (caption: string, column: string, direction: 'asc' | 'desc') =>
    `${caption}, sorted by ${column}, ${direction === 'asc' ? 'ascending' : 'descending'}`,
  chooseRow: (name: string) => `Choose ${name}`,
  choosePage: 'Choose all on this page',
  chooseNone: 'Choose none',
  chosen: (count: number) => `${formatNumber(count)} chosen`,
  chosenRegion: 'Chosen rows',
  chooseAll: (total: number, isEstimated: boolean) =>
    isEstimated
      ? `Choose all (about ${formatNumber(total)}) that match`
      : `Choose all ${formatNumber(total)} that match`,
  range: (first: number, last: number, total: string) =>
    `${formatNumber(first)}–${formatNumber(last)} of ${total}`,
  pages: (caption: string) => `Pages: ${caption}`,
  previous: 'Previous',
  next: 'Next',
  first: 'First page',
  rowsPerPage: 'Rows per page',
  keys: {
    next: 'Next row',
    previous: 'Previous row',
    choose: 'Choose row',
    chooseRange: 'Choose rows up to here',
    nextPage: 'Next page',
    previousPage: 'Previous page',
  },
}
