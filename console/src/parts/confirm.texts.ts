export const confirmTexts = {
  typeToConfirm: (name: string) => `Type ${name} to confirm`,
  typeExactly: (name: string) => `This does not match. Type ${name} exactly as shown.`,
  password: 'Your password',
  passwordMissing: 'Enter your password.',
  code: 'Code of your second factor, if you use one',
}
