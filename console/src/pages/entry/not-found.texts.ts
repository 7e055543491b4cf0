export const notFoundTexts = {
  title: 'There is no page at this address',
  lead: 'It may have moved, or the address is incomplete.',
  home: 'Go to the start page',
}
