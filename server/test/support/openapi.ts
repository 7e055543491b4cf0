/** Reads an OpenAPI document as its clients do. */

/** Returns the part of `document` to which `{$ref}` refers. Returns other values unchanged. */
export function referred(document: any, part: any): any {
  const path: string[] | undefined = part.$ref?.split('/').slice(1)
  return path ? path.reduce((at, step) => at[step], document) : part
}
