/** Codes that people type or paste. */

/** Returns a code in ASCII where it was typed wide, and without blanks, hyphens, dashes and invisible characters. */
export const typedCode = (code: string): string =>
  code
    .normalize('NFKC')
    .replaceAll(/[\p{Z}\p{C}\p{Pd}\u2212\p{Default_Ignorable_Code_Point}]/gu, '')
