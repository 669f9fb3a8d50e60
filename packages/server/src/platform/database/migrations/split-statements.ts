// Splits a migration into statements, and respects quotes, comments and dollar-quoted bodies.

/** Tokens in which a semicolon does not end the statement. The first match wins. */
const tokens = [
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
  let offset = 0;
  while (offset < sql.length) {
    const char = sql[offset];
    if (char === ';') {
      statements.push(sql.slice(start, offset));
      offset += 1;
      start = offset;
      continue;
    }
    offset = endOfToken(sql, offset);
  }
  statements.push(sql.slice(start));
  return statements.map((text) => text.trim()).filter((text) => !isEmpty(text));
}

function endOfToken(sql: string, offset: number): number {
  if (sql.startsWith('/*', offset)) return endOfBlockComment(sql, offset);
  for (const token of tokens) {
    token.lastIndex = offset;
    const match = token.exec(sql);
    if (match !== null) return offset + match[0].length;
  }
  if (sql[offset] === "'" || sql[offset] === '"') {
    throw new SyntaxError(`the quote at offset ${offset} is not closed`);
  }
  return offset + 1;
}

/** Block comments nest in PostgreSQL. */
function endOfBlockComment(sql: string, open: number): number {
  const delimiters = /\/\*|\*\//g;
  delimiters.lastIndex = open;
  let depth = 0;
  for (let delimiter = delimiters.exec(sql); delimiter !== null; delimiter = delimiters.exec(sql)) {
    depth += delimiter[0] === '/*' ? 1 : -1;
    if (depth === 0) return delimiters.lastIndex;
  }
  throw new SyntaxError(`the comment at offset ${open} is not closed`);
}

function isEmpty(text: string): boolean {
  let offset = 0;
  while (offset < text.length) {
    const isComment = text.startsWith('--', offset) || text.startsWith('/*', offset);
    if (!isComment && !/\s/.test(text[offset] ?? '')) return false;
    offset = isComment ? endOfToken(text, offset) : offset + 1;
  }
  return true;
}
