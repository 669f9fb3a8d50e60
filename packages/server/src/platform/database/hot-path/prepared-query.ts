// Runs prepared statements on one connection, and describes each statement only once.
import type pg from 'pg';
import { postgresTypeParsers } from '../column-parsers.ts';

export type PreparedStatement = {
  readonly name: string;
  readonly text: string;
  /**
   * For transactions on Citus: the same as several statements, of which the last one returns the rows. As one statement
   * with WITH it would need all workers, and not only that of the shard.
   */
  readonly inShard?: readonly string[];
};
/** A prepared statement with its parameters and, on Citus, the buckets of its shard, of which a commit has only one. */
export type HotStatement = readonly [
  statement: PreparedStatement,
  values: readonly unknown[],
  buckets?: readonly number[] | undefined,
];
export type HotRow = Record<string, unknown>;

type Parser = (text: string) => unknown;

/**
 * Column names and parsers of a statement. The server describes a statement once, since its name
 * always belongs to the same text.
 */
export type RowShape = { readonly names: readonly string[]; readonly parsers: readonly Parser[] };

/** One call at a time: the next may start when the previous one has ended. */
export type PreparedQuery = {
  /**
   * Sends the statements in one write, and PostgreSQL commits them together: an error of one undoes all.
   *
   * @returns the rows of each statement
   */
  run(statements: readonly HotStatement[]): Promise<HotRow[][]>;
  /** Fails the running statements with an error. The connection cannot be used again. */
  fail(error: Error): void;
};

/** Members of the driver's connection that its types leave out. */
type DriverConnection = {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  parse(statement: PreparedStatement): void;
  bind(portal: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(message: { type: 'P' }): void;
  execute(portal: object): void;
  sync(): void;
  sendCopyFail(why: string): void;
};

type Fields = { fields: readonly { name: string; dataTypeID: number }[] };
type EncodedStatement = readonly [PreparedStatement, readonly (string | Buffer | null)[]];
type PendingResult = { resolve(results: HotRow[][]): void; reject(error: unknown): void };

/**
 * The driver creates an event emitter, a result, a description and a timer for each query: with two
 * statements a sale, a tenth of the server's time. The driver accepts any object with these
 * methods, so one object serves a connection.
 *
 * @param shapes columns of known statements, shared by the connections of a pool
 */
export function createPreparedQuery(
  client: pg.ClientBase,
  shapes: Map<string, RowShape>,
): PreparedQuery {
  let statements: readonly EncodedStatement[] = [];
  /** The index of the statement whose messages arrive now. */
  let statementIndex = 0;
  let shape: RowShape | undefined;
  let results: HotRow[][] = [];
  let parseError: unknown;
  let pending: PendingResult | undefined;

  function finish(error: unknown): void {
    const finished = pending;
    pending = undefined;
    statements = [];
    if (error === undefined) finished?.resolve(results);
    else finished?.reject(error);
    results = [];
  }

  /** Messages about the next statement follow. */
  function startStatement(index: number): void {
    statementIndex = index;
    const name = statements[index]?.[0].name;
    shape = name === undefined ? undefined : shapes.get(name);
  }

  function send(driver: DriverConnection, [{ name, text }, values]: EncodedStatement): void {
    if (driver.parsedStatements[name] === undefined && !(name in driver.submittedNamedStatements)) {
      driver.parse({ name, text });
      driver.submittedNamedStatements[name] = text;
    }
    driver.bind({ statement: name, values });
    if (!shapes.has(name)) driver.describe({ type: 'P' });
    driver.execute({});
  }

  const query = {
    /** The driver notes under this name that the statement is prepared. */
    get name() {
      return statements[statementIndex]?.[0].name;
    },
    get text() {
      return statements[statementIndex]?.[0].text;
    },
    submit(connection: pg.Connection): Error | null {
      const driver = connection as unknown as DriverConnection;
      for (const [{ name, text }] of statements) {
        const preparedText = driver.parsedStatements[name] ?? driver.submittedNamedStatements[name];
        if (preparedText !== undefined && preparedText !== text)
          return new Error(`two statements have the name ${name}`);
      }
      driver.stream.cork();
      for (const statement of statements) send(driver, statement);
      driver.sync();
      driver.stream.uncork();
      return null;
    },
    handleRowDescription({ fields }: Fields): void {
      shape = {
        names: fields.map((field) => field.name),
        parsers: fields.map((field) => postgresTypeParsers.getTypeParser(field.dataTypeID, 'text')),
      };
      if (query.name !== undefined) shapes.set(query.name, shape);
    },
    handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
      if (shape === undefined || parseError !== undefined) return;
      try {
        results[statementIndex]?.push(parseRow(shape, fields));
      } catch (error) {
        parseError = error;
      }
    },
    handleCommandComplete: (): void => startStatement(statementIndex + 1),
    handleEmptyQuery(): void {},
    handlePortalSuspended(): void {},
    handleCopyData(): void {},
    handleCopyInResponse: (connection: DriverConnection): void =>
      connection.sendCopyFail('nothing to copy'),
    handleError(error: unknown, connection: DriverConnection): void {
      // PostgreSQL has skipped the statements behind the failed one.
      for (const [{ name }] of statements) delete connection.submittedNamedStatements[name];
      finish(error);
    },
    handleReadyForQuery: (): void => finish(parseError),
  };

  return {
    async run(next) {
      statements = next.map(([statement, values]) => [statement, values.map(encodeParameter)]);
      results = next.map(() => []);
      startStatement(0);
      parseError = undefined;
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

/** Encodes a value as PostgreSQL text. */
function encodeParameter(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return encodeArray(value);
  throw new TypeError(
    `a prepared statement of the sale does not accept ${typeof value} values: pass JSON as text`,
  );
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
