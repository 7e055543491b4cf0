export const paletteTexts = {
  results: 'Results',
  nothingFound: (text: string) => `Nothing matches “${text}”.`,
  searching: 'Searching',
}
