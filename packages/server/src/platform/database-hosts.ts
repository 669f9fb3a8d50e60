// Opens connections to whichever host of the address accepts writes: after a fail-over that is another one.
import pg from 'pg';
import type { DatabaseAddress, DatabaseHost } from './database-address.ts';
import { isUnavailable } from './database-errors.ts';

type ClientClass = typeof pg.Client;
type FindHost = () => Promise<DatabaseHost>;

/**
 * The class of the connections: the driver's own where the address names one host, else one that asks all
 * hosts before it connects.
 *
 * @param probe - how a host is asked, with a limit of time
 */
export function clientClass(address: DatabaseAddress, probe: pg.ClientConfig): ClientClass {
  if (!address.needsWritableHost) return pg.Client;
  const findHost = sharing(() => findWritableHost(address.hosts, probe));
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = findHost().then((host) => {
        Object.assign(this, host);
        return super.connect();
      });
      if (callback === undefined) return connected;
      connected.then(() => callback(undefined as unknown as Error), callback);
      return undefined;
    }
  };
}

/** Connections that open at the same time ask once. */
function sharing(find: FindHost): FindHost {
  let asked: Promise<DatabaseHost> | undefined;
  return () => {
    asked ??= find().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}

/** All at once, so that a host that is gone costs no time. */
async function findWritableHost(
  hosts: readonly DatabaseHost[],
  probe: pg.ClientConfig,
): Promise<DatabaseHost> {
  const answers = hosts.map((host) => demandWritable(host, probe));
  try {
    return await Promise.any(answers);
  } catch (error) {
    const reasons = (error as AggregateError).errors as Error[];
    const refused = reasons.find((reason) => !isUnavailable(reason));
    if (refused !== undefined) throw refused;
    const told = hosts.map(
      ({ host, port }, index) => `${host}:${port} (${reasons[index]?.message})`,
    );
    throw new Error(`no database host accepts writes: ${told.join(', ')}`, { cause: error });
  }
}

async function demandWritable(host: DatabaseHost, probe: pg.ClientConfig): Promise<DatabaseHost> {
  const client = Object.assign(new pg.Client(probe), host);
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('SHOW transaction_read_only');
    if (rows[0]?.transaction_read_only === 'off') return host;
  } finally {
    await client.end();
  }
  throw new Error('no database host: it is read-only');
}
