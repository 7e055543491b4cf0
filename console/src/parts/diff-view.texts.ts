export const diffViewTexts = {
  caption: 'Changes by field',
  field: 'Field',
  before: 'Before',
  after: 'After',
  empty: 'empty',
  secret: 'kept secret',
  showAll: 'Show all fields',
  showChanged: 'Show changed fields only',
  noChange: 'No field changed.',
}
