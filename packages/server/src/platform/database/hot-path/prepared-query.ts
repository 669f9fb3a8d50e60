// Runs prepared statements on one connection, and asks nothing of the server that it has told before.
import type pg from 'pg';
import { postgresTypeParsers } from '../column-parsers.ts';

export type HotStatement = { readonly name: string; readonly text: string };
export type HotRow = Record<string, unknown>;

type Parser = (text: string) => unknown;

/** How the rows of a statement are read; the server describes them once, since its name is its text for ever. */
export type RowShape = { readonly names: readonly string[]; readonly parsers: readonly Parser[] };

/** One after another: the next may begin when the one before has ended. */
export type PreparedQuery = {
  run(statement: HotStatement, values: readonly unknown[]): Promise<HotRow[]>;
  /** Ends what runs with an error; the connection is of no use afterwards. */
  fail(error: Error): void;
};

/** What the driver's types do not tell of its connection. */
type DriverConnection = {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  parse(statement: HotStatement): void;
  bind(portal: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(what: { type: 'P' }): void;
  execute(portal: object): void;
  sync(): void;
  sendCopyFail(why: string): void;
};

type Fields = { fields: readonly { name: string; dataTypeID: number }[] };
type PendingResult = { resolve(rows: HotRow[]): void; reject(error: unknown): void };

/**
 * The driver makes an emitter, a result, a description and a timer of each query: at two statements a sale
 * that was a tenth of the server's time. What it takes instead is any object with these methods, so one of
 * them serves a connection for all its life.
 *
 * @param shapes what is known of the statements, shared by the connections of a pool
 */
export function createPreparedQuery(
  client: pg.ClientBase,
  shapes: Map<string, RowShape>,
): PreparedQuery {
  let parameters: (string | Buffer | null)[] = [];
  let shape: RowShape | undefined;
  let rows: HotRow[] = [];
  let fault: unknown;
  let pending: PendingResult | undefined;

  function finish(error: unknown): void {
    const finished = pending;
    pending = undefined;
    parameters = [];
    if (error === undefined) finished?.resolve(rows);
    else finished?.reject(error);
    rows = [];
  }

  const query = {
    name: '',
    text: '',
    submit(connection: pg.Connection): Error | null {
      const driver = connection as unknown as DriverConnection;
      const { name, text } = query;
      const preparedText = driver.parsedStatements[name] ?? driver.submittedNamedStatements[name];
      if (preparedText !== undefined && preparedText !== text)
        return new Error(`two statements named ${name}`);
      driver.stream.cork();
      if (preparedText === undefined) {
        driver.parse({ name, text });
        driver.submittedNamedStatements[name] = text;
      }
      driver.bind({ statement: name, values: parameters });
      if (shape === undefined) driver.describe({ type: 'P' });
      driver.execute({});
      driver.sync();
      driver.stream.uncork();
      return null;
    },
    handleRowDescription({ fields }: Fields): void {
      shape = {
        names: fields.map((field) => field.name),
        parsers: fields.map((field) => postgresTypeParsers.getTypeParser(field.dataTypeID, 'text')),
      };
      shapes.set(query.name, shape);
    },
    handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
      if (shape === undefined || fault !== undefined) return;
      try {
        rows.push(parseRow(shape, fields));
      } catch (error) {
        fault = error;
      }
    },
    handleCommandComplete(): void {},
    handleEmptyQuery(): void {},
    handlePortalSuspended(): void {},
    handleCopyData(): void {},
    handleCopyInResponse: (connection: DriverConnection): void =>
      connection.sendCopyFail('nothing to copy'),
    handleError: finish,
    handleReadyForQuery: (): void => finish(fault),
  };

  return {
    async run({ name, text }, values) {
      parameters = values.map(encodeParameter);
      query.name = name;
      query.text = text;
      shape = shapes.get(name);
      fault = undefined;
      return new Promise((resolve, reject) => {
        pending = { resolve, reject };
        client.query(query as unknown as pg.Submittable);
      });
    },
    fail: finish,
  };
}

function parseRow({ names, parsers }: RowShape, fields: readonly (string | null)[]): HotRow {
  const row: HotRow = {};
  for (let index = 0; index < names.length; index += 1) {
    const text = fields[index] ?? null;
    row[names[index] as string] = text === null ? null : (parsers[index] as Parser)(text);
  }
  return row;
}

/** A value as the text that PostgreSQL reads. */
function encodeParameter(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return encodeArray(value);
  throw new TypeError(`a hot statement takes no ${typeof value}: hand JSON over as text`);
}

const escapedCharacters = /["\\]/g;

function encodeArray(items: readonly unknown[]): string {
  const texts = items.map((item) => {
    const text = encodeParameter(item);
    if (text === null) return 'NULL';
    if (Array.isArray(item)) return text;
    const plain = typeof text === 'string' ? text : `\\x${text.toString('hex')}`;
    return `"${plain.replace(escapedCharacters, '\\$&')}"`;
  });
  return `{${texts.join(',')}}`;
}
