export const confirmTexts = {
  typeToConfirm: (name: string) => `Type ${name} to confirm`,
  typeExactly: (name: string) => `This does not match. Type ${name} exactly as shown.`,
  password: 'Your password',
  passwordHint: 'Final changes need your password, at most every 5 minutes.',
  passwordMissing: 'Enter your password.',
  code: 'Code of your second factor',
  codeHint: 'From your app, or a recovery code.',
  codeMissing: 'Enter the code.',
}
