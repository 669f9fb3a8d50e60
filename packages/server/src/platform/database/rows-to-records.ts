// Converts rows to records: members in camelCase, times in epoch milliseconds, no NULLs.

const toMemberName = (column: string): string =>
  column.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());

/**
 * A member is absent where its column is NULL. The caller asserts the type of the records.
 *
 * @example const [user] = toRecords<User>(await queries.query(text, [userId]));
 */
export function toRecords<Of extends object>(rows: readonly object[]): Of[] {
  const names = new Map(Object.keys(rows[0] ?? {}).map((column) => [column, toMemberName(column)]));
  return rows.map((row) => {
    const record: Record<string, unknown> = {};
    for (const [column, value] of Object.entries(row)) {
      if (value === null) continue;
      record[names.get(column) ?? column] = value instanceof Date ? value.getTime() : value;
    }
    return record as Of;
  });
}
