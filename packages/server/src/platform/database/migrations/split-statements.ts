// Cuts a migration into its statements, leaving quotes, comments and dollar-quoted bodies whole.

/** What may hold a semicolon that ends nothing; the first that matches at a place wins. */
const pieces = [
  /--[^\n]*/y,
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  /\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$/y,
  /[A-Za-z_][\w$]*/y,
];

/** @throws SyntaxError where a quote or a comment does not end */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < sql.length) {
    const char = sql[at];
    if (char === ';') {
      statements.push(sql.slice(start, at));
      at += 1;
      start = at;
      continue;
    }
    at = endOfPiece(sql, at);
  }
  statements.push(sql.slice(start));
  return statements.map((text) => text.trim()).filter((text) => !isEmpty(text));
}

function endOfPiece(sql: string, at: number): number {
  if (sql.startsWith('/*', at)) return endOfBlockComment(sql, at);
  for (const piece of pieces) {
    piece.lastIndex = at;
    const match = piece.exec(sql);
    if (match !== null) return at + match[0].length;
  }
  if (sql[at] === "'" || sql[at] === '"') {
    throw new SyntaxError(`a quote that opens at offset ${at} does not end`);
  }
  return at + 1;
}

/** Block comments nest in PostgreSQL. */
function endOfBlockComment(sql: string, open: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = open;
  let depth = 0;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  throw new SyntaxError(`a comment that opens at offset ${open} does not end`);
}

function isEmpty(text: string): boolean {
  let at = 0;
  while (at < text.length) {
    const comment = text.startsWith('--', at) || text.startsWith('/*', at);
    if (!comment && !/\s/.test(text[at] ?? '')) return false;
    at = comment ? endOfPiece(text, at) : at + 1;
  }
  return true;
}
