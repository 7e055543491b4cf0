/** The lengths of functions, measured with TypeScript's parser. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** The maximum lines without nested functions: one screen. Lines of nested functions count separately. */
const MAX_OWN_LINES = 60
/** The maximum lines including all nested functions. */
const MAX_LINES = 150

export interface FunctionLength {
  name: string
  line: number
  own: number
  all: number
}

/** Returns a line for each function that is too long, without exceptions. */
export function tooLongFunctions(files: readonly string[]): string[] {
  return files.flatMap((file) =>
    functionsOf(file, readFileSync(file, 'utf8'))
      .filter(({ own, all }) => own > MAX_OWN_LINES || all > MAX_LINES)
      .map(
        ({ name, line, own, all }) => `${file}:${line} ${name}: ${own} own lines, ${all} in all`,
      ),
  )
}

/**
 * Returns every function of a source text, outermost first. Blank lines count. Calls of `operation` do not count,
 * because a table of operations is data and grows with the interface.
 */
export function functionsOf(file: string, text: string): FunctionLength[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const found: FunctionLength[] = []

  /** @param around the enclosing functions of the node, the outermost first */
  function visit(node: ts.Node, around: readonly FunctionLength[]): void {
    const line = lineOf(node.getStart(source)) + 1
    const lines = lineOf(node.end) + 2 - line
    const holder = around.at(-1)
    if (isOperation(node)) {
      for (const entry of around) entry.all -= lines
      if (holder) holder.own -= lines
    } else if (isFunction(node)) {
      // Does not subtract the lines of a one-line function from the enclosing function.
      if (holder && lines > 1) holder.own -= lines
      const entry = { name: nameOf(node), line, own: lines, all: lines }
      found.push(entry)
      ts.forEachChild(node, (child) => visit(child, [...around, entry]))
    } else ts.forEachChild(node, (child) => visit(child, around))
  }

  visit(source, [])
  return found
}

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionLike(node) && 'body' in node && node.body !== undefined

const isOperation = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  ts.isIdentifier(node.expression) &&
  node.expression.text === 'operation'

function nameOf(node: ts.FunctionLikeDeclaration): string {
  const { parent } = node
  const name =
    node.name ??
    (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name : undefined)
  return name && ts.isIdentifier(name) ? name.text : '(anonymous)'
}
