export const secretOnceTexts = {
  warning: 'You will not see it again.',
  kept: 'I have kept it in a safe place',
  save: 'Save',
  done: 'Done',
  leaveTitle: 'Leave without keeping it',
  leaveBody: 'It is shown only this once. If you leave now, you have to create a new one.',
  stay: 'Stay',
}
