// Connects to the host of the database URL that accepts writes. After a fail-over that is another host.
import pg from 'pg';
import type { DatabaseAddress, DatabaseHost } from '../settings/database-url.ts';
import { isUnavailable } from './database-errors.ts';

type FindHost = () => Promise<DatabaseHost>;

/**
 * Class of the connections: the driver's own for one host; for several hosts, clients that first
 * find the writable one.
 *
 * @param probe the configuration, with a time limit, of the connection that tests a host
 */
export function createClientClass(
  address: DatabaseAddress,
  probe: pg.ClientConfig,
): typeof pg.Client {
  if (!address.needsWritableHost) return pg.Client;
  const findHost = shareLookup(() => findWritableHost(address.hosts, probe));
  // `new` returns the object that the function returns, so the pool can use the function as a class.
  function createClient(config: pg.ClientConfig): pg.Client {
    const client = new pg.Client(config);
    const connectDirectly = client.connect.bind(client) as () => Promise<pg.Client>;
    const connect = (callback?: (error?: Error) => void) => {
      const connected = findHost().then((host) => {
        Object.assign(client, host);
        return connectDirectly();
      });
      if (callback === undefined) return connected;
      connected.then(() => callback(), callback);
      return undefined;
    };
    return Object.assign(client, { connect });
  }
  return createClient as unknown as typeof pg.Client;
}

/** Connections that open at the same time share one lookup. */
function shareLookup(find: FindHost): FindHost {
  let pendingLookup: Promise<DatabaseHost> | undefined;
  return () => {
    pendingLookup ??= find().finally(() => {
      pendingLookup = undefined;
    });
    return pendingLookup;
  };
}

/** Tests all hosts at the same time, so that an unavailable host costs no time. */
async function findWritableHost(
  hosts: readonly DatabaseHost[],
  probe: pg.ClientConfig,
): Promise<DatabaseHost> {
  const lookups = hosts.map((host) => requireWritableHost(host, probe));
  try {
    return await Promise.any(lookups);
  } catch (error) {
    const reasons = (error as AggregateError).errors as Error[];
    const loginError = reasons.find((reason) => !isUnavailable(reason));
    if (loginError !== undefined) throw loginError;
    const faults = hosts.map(
      ({ host, port }, index) => `${host}:${port} (${reasons[index]?.message})`,
    );
    throw new Error(`no database host accepts writes: ${faults.join(', ')}`, { cause: error });
  }
}

async function requireWritableHost(
  host: DatabaseHost,
  probe: pg.ClientConfig,
): Promise<DatabaseHost> {
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
