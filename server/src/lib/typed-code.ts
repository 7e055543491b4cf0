/** Codes that people type or paste. */

/** Returns a code without blanks, hyphens, dashes and invisible characters, and with wide characters in ASCII. */
export const typedCode = (code: string): string =>
  code
    .normalize('NFKC')
    .replaceAll(/[\p{Z}\p{C}\p{Pd}\u2212\p{Default_Ignorable_Code_Point}]/gu, '')
