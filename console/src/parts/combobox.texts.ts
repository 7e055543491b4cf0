export const comboboxTexts = {
  nothingFound: 'Nothing found',
}
