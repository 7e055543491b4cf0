export const panelTexts = {
  close: 'Close the panel',
  content: 'Details',
}
