// Connections to the test database that break at a chosen moment of a transaction.
import { connect, createServer, type Socket } from 'node:net';
import { createLog, type Database, openDatabase } from '../../../src/platform/index.ts';
import { testDatabaseUrl } from './test-database.ts';

/** The moment in the transaction that contains the statement. */
export type BreakMoment = 'before the statement' | 'before COMMIT' | 'after COMMIT';

export type BreakingDatabase = {
  readonly database: Database;
  /** Breaks one connection during a transaction with a statement that contains this text. */
  breakAt(moment: BreakMoment, statement: string): void;
  hasBroken(): boolean;
  close(): Promise<void>;
};

const commit = /\0?commit\0/i;

/** The client sends each statement as text, so the relay can read it. */
export async function openBreakingDatabase(): Promise<BreakingDatabase> {
  const url = new URL(await testDatabaseUrl());
  const socketPath = `${url.searchParams.get('host')}/.s.PGSQL.${url.port || 5432}`;
  const sockets = new Set<Socket>();
  let plannedBreak: { readonly moment: BreakMoment; readonly statement: string } | undefined;
  const server = createServer((clientSocket) => {
    const databaseSocket = connect(socketPath);
    const destroyBoth = () => {
      clientSocket.destroy();
      databaseSocket.destroy();
    };
    for (const socket of [clientSocket, databaseSocket]) {
      sockets.add(socket);
      socket.on('error', destroyBoth).on('close', () => {
        sockets.delete(socket);
        destroyBoth();
      });
    }
    let moment: BreakMoment | undefined;
    let isCommitting = false;
    clientSocket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      if (plannedBreak !== undefined && text.includes(plannedBreak.statement)) {
        ({ moment } = plannedBreak);
        plannedBreak = undefined;
        if (moment === 'before the statement') return destroyBoth();
      }
      if (moment !== undefined && commit.test(text)) {
        if (moment === 'before COMMIT') return destroyBoth();
        isCommitting = true;
      }
      databaseSocket.write(chunk);
    });
    databaseSocket.on('data', (chunk: Buffer) => {
      if (isCommitting) destroyBoth();
      else clientSocket.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url.host = `${url.hostname || '127.0.0.1'}:${address.port}`;
  url.searchParams.set('host', '127.0.0.1');
  url.searchParams.set('port', String(address.port));
  const database = openDatabase({
    url: url.href,
    log: createLog({ logLevel: 'silent', instanceName: 'database-wire' }),
    preparedStatements: false,
  });
  return {
    database,
    breakAt(moment, statement) {
      plannedBreak = { moment, statement };
    },
    hasBroken: () => plannedBreak === undefined,
    async close() {
      await database.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
