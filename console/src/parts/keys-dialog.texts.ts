export const keysDialogTexts = {
  title: 'Keyboard shortcuts',
  label: 'Keyboard shortcuts',
  thenKey: 'then',
  singleKeys: 'Use shortcuts of single letters',
  singleKeysHint: 'Shortcuts never act while you type in a field.',
}
