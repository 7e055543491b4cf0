export const comboboxTexts = {
  nothingFound: 'Nothing found',
  searching: 'Searching…',
  failed: 'The search failed. Type again to repeat it.',
  tooShort: (letters: number) => `Type at least ${letters} letters`,
}
