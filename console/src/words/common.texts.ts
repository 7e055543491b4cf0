/** Words that many pages share. */
export const commonTexts = {
  cancel: 'Cancel',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'Could not be copied',
  undo: 'Undo',
  tryAgain: 'Try again',
  clearFilters: 'Clear filters',
  never: 'never',
  none: '–',
  loading: 'Loading',
}
